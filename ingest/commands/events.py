"""Print the typed events of Flink logs, each decline joined to where its task ran.

With --json one JSON object a line (every field of an event), else a table for people. Files may be
packed and rotated; give all files of one process to join over rotation. On stderr: what each file
was taken for, and why one was refused.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from datetime import date, datetime
from typing import Any

from ingest.commands.output import print_all
from ingest.flink_logs.event_parser import event_of
from ingest.flink_logs.events import LogEvent
from ingest.flink_logs.files import UNREADABLE, find, open_unpacked, read_file, why
from ingest.flink_logs.task_locations import located
from ingest.records import Skip
from ingest.redaction.texts import redact

_LAYOUTS = {
    "flink": "in Flink's own layout",
    "JSON": "as JSON",
    "date first": "in a layout that begins with the date",
    "log4j 1, short": "in log4j 1's short layout",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="log files or globs, plain or packed"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument(
        "--kind",
        action="append",
        default=[],
        metavar="KIND",
        help="only events of this kind; may be repeated",
    )
    parser.add_argument(
        "--layout", default="flink", help="'flink' or a log4j pattern (default: %(default)s)"
    )
    parser.add_argument(
        "--date",
        type=date.fromisoformat,
        metavar="DAY",
        help="day of times without a date, as 2026-11-21",
    )
    parser.add_argument(
        "--time-zone",
        default="UTC",
        metavar="ZONE",
        help="IANA zone the log is written in (default: %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    skips: list[Skip] = []
    show = _json_line if args.json else _table_line
    return print_all(
        (
            show(event)
            for event in located(_events(args, skips))
            if not args.kind or event.kind in args.kind
        ),
        skips,
    )


def _events(args: argparse.Namespace, skips: list[Skip]) -> Iterator[LogEvent]:
    files, unlisted = find(args.files)
    skips += unlisted
    for file in files:
        forms: Counter[tuple[str, str]] = Counter()
        kept = events_count = 0
        for records, trouble in read_file(
            file.path, layout=args.layout, time_zone=args.time_zone, day=args.date, forms=forms
        ):
            skips += trouble
            kept += len(records)
            for record in records:
                event = event_of(record)
                if event:
                    events_count += 1
                    yield event
        print(
            f"{redact(file.path)}: {_summary(file.path, forms, kept, events_count)}",
            file=sys.stderr,
        )


def _summary(path: str, forms: Counter[tuple[str, str]], kept: int, events: int) -> str:
    if not forms:
        return f"no log records; {_first_line(path)}"
    names = (
        f"{count:,} records {_LAYOUTS.get(layout, layout)}{f' in {envelope}' if envelope else ''}"
        for (envelope, layout), count in forms.most_common()
    )
    nothing = "; none of the lines that are looked for is among them" if not kept else ""
    return f"{', '.join(names)}; {events:,} events{nothing}"


def _first_line(path: str) -> str:
    try:
        with open_unpacked(path) as stream:
            lines = stream.read(4096).lstrip(b"\0\r\n \t").split(b"\n")
    except UNREADABLE as error:
        return f"it cannot be read ({why(error, remote='://' in path)})"
    first = redact(lines[0][:100].decode("utf-8", "replace"))
    return (
        f"it begins with {first!a}, which is no header of a record that is known"
        if first
        else "it is empty"
    )


def _json_line(event: LogEvent) -> str:
    return json.dumps(
        {name: _plain(value) for name, value in asdict(event).items()}, ensure_ascii=False
    )


def _plain(value: Any) -> Any:
    return (
        value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        if isinstance(value, datetime)
        else value
    )


def _table_line(event: LogEvent) -> str:
    when = event.ts.strftime("%Y-%m-%d %H:%M:%S.") + f"{event.ts.microsecond // 1000:03d}"
    checkpoint = "" if event.checkpoint_id is None else f"#{event.checkpoint_id}"
    task = "" if not event.task else f"{event.task} [{event.subtask}]"
    change = f"{event.from_state} -> {event.to_state}" if event.from_state else event.to_state or ""
    words = (
        change,
        task,
        f"on {event.host}" if event.host else "",
        event.reason or "",
        event.reason_text or "",
    )
    return (
        f"{when}  {event.kind:<24} {checkpoint:>7}  {'  '.join(word for word in words if word)}"
    ).rstrip()
