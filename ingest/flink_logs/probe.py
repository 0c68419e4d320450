"""Tests log globs: what would be read, and whether the declared layout and time zone fit."""

from datetime import datetime, timedelta

from ingest.cluster_run import ClusterRun
from ingest.errors import IngestError
from ingest.flink_logs.files import READ_BYTES, UNREADABLE, LogFile, find
from ingest.flink_logs.layouts import layout_of, zone_of
from ingest.flink_logs.log_reader import LogReader
from ingest.flink_logs.names import is_packed, process_of
from ingest.source_read import ProbeNotes
from ingest.sources import LogSource
from ingest.wording import count_text

MAX_FILES_PROBED = 20
ZONE_TOLERANCE = timedelta(minutes=20)
"""A busy log's last line is about now; off by more than this, and by about whole half hours, its zone is wrong."""


def probe(run: ClusterRun, notes: ProbeNotes) -> None:
    logs = run.cluster.logs
    if not run.cluster.log_store or len(logs.globs) > 1:  # that one has the lines of the store
        found = probe_logs(logs, run.shard.at())
        notes.sees += found.sees
        notes.misses += found.misses


def probe_logs(logs: LogSource, now: datetime) -> ProbeNotes:
    """What the globs match, whether it has the declared layout, and whether the declared time zone can be right."""
    result = ProbeNotes()
    try:
        layout = layout_of(logs.layout)
        zone = zone_of(logs.time_zone, layout)
    except IngestError as error:
        result.misses.append(f"logs: {error}")
        return result
    files, skips = find(logs.globs, logs.own_globs)
    result.misses += [f"logs: {skip.subject}: {skip.detail}" for skip in skips]
    if not files:
        result.misses.append(f"logs: nothing matches {', '.join(logs.globs)}")
        return result
    result.sees.append(f"log files: {len(files)}, {sum(file.size for file in files) / 1e6:.1f} MB")
    newest = None
    unknown: list[str] = []
    for file in files[-MAX_FILES_PROBED:]:
        last, headers = _last_record(file, LogReader(layout, zone, file=file.path, process=process_of(file.path), keep="all"))
        if not headers and file.size:
            unknown.append(file.path)
        newest = max(filter(None, (newest, last)), default=None)
    if unknown:
        result.misses.append(
            f"logs: {count_text(len(unknown), 'file')} without the declared layout, as {unknown[0]}; declare their log4j pattern"
        )
    if newest:
        result.sees.append(f"newest log record: {newest:%Y-%m-%d %H:%M:%S} UTC")
        if zone_is_doubtful(newest, now):
            result.misses.append(
                f"logs: the newest record would be {_hours(newest - now)} from now; is {logs.time_zone} the time zone of these logs?"
            )
    return result


def zone_is_doubtful(newest: datetime, now: datetime) -> bool:
    """Written in the future, or off by about whole half hours up to a day: clocks are not that wrong, zones are."""
    off = newest - now
    if off > ZONE_TOLERANCE:
        return True
    half_hours = round(off / timedelta(minutes=30))
    return -48 <= half_hours < 0 and abs(off - half_hours * timedelta(minutes=30)) < timedelta(minutes=1)


def _last_record(file: LogFile, reader: LogReader) -> tuple[datetime | None, int]:
    """Time of the last record in the file's last megabyte (its first, where it is packed), and how many there are."""
    try:
        with file.open() as stream:
            if not is_packed(file.path):
                stream.seek(max(0, file.size - READ_BYTES))
            data = stream.read(READ_BYTES)
    except UNREADABLE:
        return None, 0
    records = [*reader.feed(data), *reader.close()]
    return max((record.ts for record in records), default=None), reader.headers


def _hours(off: timedelta) -> str:
    return f"{abs(off) / timedelta(hours=1):.1f} h {'ahead' if off > timedelta(0) else 'behind'}"
