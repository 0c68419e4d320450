"""Follow the audit logs of NameNodes: what was written since the last cycle, summed up by second,
call, caller and job.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import IO, Any, NamedTuple
from zoneinfo import ZoneInfo

from ingest.cluster_run import ClusterRun
from ingest.flink_logs.cursors import HEAD_BYTES, FileCursor, TailCursor, fingerprint
from ingest.flink_logs.files import READ_BYTES, UNREADABLE, LogFile, find, unreadable
from ingest.flink_logs.layouts import zone_of
from ingest.flink_logs.names import age_order, is_packed
from ingest.messages import message
from ingest.records import NameNodeCalls, Observed, Skip
from ingest.source_declaration import SourceRead

LONGEST_BYTES = 16 * 1024
_BEFORE_FIELD = re.compile(rb" +(?=(?:ugi|ip|cmd|src|dst)=)")
_LINE = re.compile(
    rb"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})[ "
    rb"T](?P<time>[0-9]{2}:[0-9]{2}:[0-9]{2})[,.][0-9]{3}[^\t\n]{0,200}?"
    rb"allowed=(?P<allowed>true|false)\t+ugi=(?P<user>[^\t\n]*)\t+ip=/?(?P<address>[^\t\n]*)\t+"
    rb"cmd=(?P<cmd>[^\t\n]*)\t+src=(?P<src>[^\t\n]*)\t"
)
_JOB = re.compile(rb"/([0-9a-f]{32})(?:/|$)")
_LONGEST_NAME = 100


class AuditLine(NamedTuple):
    """``second``: as the NameNode's clock and zone have it. ``job_id``: None where the path names
    no job.
    """

    second: str
    cmd: str
    user: str
    address: str
    job_id: str | None
    allowed: bool


def audit_line(line: bytes) -> AuditLine | None:
    if len(line) > LONGEST_BYTES:
        return None
    match = _LINE.match(line) or _LINE.match(_BEFORE_FIELD.sub(b"\t", line))
    if match is None:
        return None
    of_job = _JOB.search(match["src"])
    return AuditLine(
        f"{match['day'].decode()} {match['time'].decode()}",
        _first_word(match["cmd"]),
        _first_word(match["user"]),
        _first_word(match["address"]),
        of_job[1].decode() if of_job else None,
        match["allowed"] == b"true",
    )


def _first_word(text: bytes) -> str:
    """``rename (options=[OVERWRITE])`` is a rename, ``flink (auth:SIMPLE)`` a call of flink."""
    return text.decode("utf-8", "replace").partition(" ")[0][:_LONGEST_NAME]


SOURCE = "hdfs_audit"
CYCLE_BYTES = 64 * 1024 * 1024
BEGIN_BYTES = 16 * 1024 * 1024
"""Of a file that is seen for the first time, or that grew by far more than a cycle reads, the
newest.
"""
MOST_BEHIND_BYTES = 4 * CYCLE_BYTES
MOST_ROWS = 100_000
NO_ENTRY_AFTER_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class AuditRead:
    records: tuple[NameNodeCalls, ...]
    cursor: dict[str, Any]
    skips: tuple[Skip, ...]


def read_declared(run: ClusterRun) -> SourceRead:
    cluster = run.cluster
    source_read = read_new(
        cluster.settings[SOURCE + "_globs"], cluster.logs.time_zone, run.part(SOURCE)
    )
    observed = (
        (Observed(cluster.name, run.shard.at(), SOURCE, source_read.records),)
        if source_read.records
        else ()
    )
    return SourceRead(observed, source_read.cursor, source_read.skips)


def read_new(globs: Sequence[str], time_zone: str, cursor: dict[str, Any] | None) -> AuditRead:
    """What is new of the files; the cursor is to be saved after the records are safe.

    Raises :class:`ingest.errors.Refused` for an unknown time zone.
    """
    cycle = _Cycle(TailCursor.from_json(cursor), zone_of(time_zone))
    files, skips = find(globs)
    cycle.run([file for file in files if not is_packed(file.path)])
    return AuditRead(tuple(cycle.records), cycle.cursor.to_json(), (*skips, *cycle.skips))


@dataclass(slots=True)
class _Cycle:
    cursor: TailCursor
    zone: ZoneInfo
    records: list[NameNodeCalls] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    _instants: dict[str, datetime | None] = field(default_factory=dict)

    def run(self, files: Sequence[LogFile]) -> None:
        self.cursor.cycle += 1
        # Whatever a rotation calls a file: its first lines are its own.
        known, left, updates = [*self.cursor.files.values(), *self.cursor.gone], CYCLE_BYTES, {}
        for file in sorted(files, key=lambda file: age_order(file.path)):
            before = self.cursor.files.get(file.path)
            unchanged = (
                before is not None
                and (before.size, before.changed) == (file.size, file.changed)
                and not before.more
            )
            if unchanged or left <= 0 or len(self.records) >= MOST_ROWS:
                continue
            try:
                with file.open() as stream:
                    read, updates[file.path] = self._read(file, stream, known, left)
            except FileNotFoundError:
                continue
            except UNREADABLE as error:
                if before is None or before.changed != file.changed:
                    self.skips.append(unreadable(file.path, error))
                continue
            left -= read
        self.cursor.leave([file.path for file in files])
        self.cursor.files.update(updates)

    def _read(
        self, file: LogFile, stream: IO[bytes], candidates: Sequence[FileCursor], limit: int
    ) -> tuple[int, FileCursor]:
        head = stream.read(HEAD_BYTES)
        known = self.cursor.best_of(candidates, file.path, head)
        same_path = self.cursor.files.get(file.path)
        if same_path and same_path is not known:
            self.cursor.lose(same_path)
        begin = known.offset if known and known.offset <= file.size else None
        offset = self._begin(file, begin)
        stream.seek(offset)
        position, counted, refused, entries = self._count(
            stream, offset, limit, mid_line=offset > 0 and offset != begin
        )
        log = fingerprint(head.partition(b"\n")[0])
        for line, calls in counted.items():
            at = self._instant(line.second)
            if at is not None:
                node_calls = NameNodeCalls(
                    log,
                    offset,
                    at,
                    line.cmd,
                    line.user,
                    line.address,
                    line.job_id,
                    calls,
                    refused[line],
                )
                self.records.append(node_calls)
        nothing = (
            not entries
            and not (known and known.headers)
            and position - offset >= NO_ENTRY_AFTER_BYTES
        )
        if nothing and not (known and known.reported):
            detail = message(
                "No line of it is an entry of an HDFS audit log (allowed=… ugi=… ip=… cmd=… "
                "src=…); declare hdfs-audit.log of a NameNode."
            )
            self.skips.append(Skip(file.path, "no_header", detail))
        return position - offset, FileCursor(
            path=file.path,
            size=file.size,
            changed=file.changed,
            head=fingerprint(head),
            head_bytes=len(head),
            offset=position,
            read_to=position,
            more=position - offset >= limit,
            served_cycle=self.cursor.cycle,
            headers=(known.headers if known else 0) + entries,
            reported=nothing or bool(known and known.reported),
        )

    def _begin(self, file: LogFile, begin: int | None) -> int:
        if begin is None:
            return _newest(file)
        if file.size - begin <= MOST_BEHIND_BYTES:
            return begin
        newest = _newest(file)
        detail = message(
            "{newest:count} bytes were left out: it grew by more than a cycle reads. Its newest "
            "lines are read.",
            newest=newest - begin,
        )
        self.skips.append(Skip(file.path, "over_budget", detail))
        return newest

    def _count(
        self, stream: IO[bytes], offset: int, limit: int, mid_line: bool
    ) -> tuple[int, Counter[AuditLine], Counter[AuditLine], int]:
        counted: Counter[AuditLine] = Counter()
        refused: Counter[AuditLine] = Counter()
        position, rest, entries = offset, b"", 0
        while (
            position + len(rest) - offset < limit and len(self.records) + len(counted) < MOST_ROWS
        ):
            data = stream.read(READ_BYTES)
            if not data:
                break
            *lines, rest = (rest + data).split(b"\n")
            position += sum(map(len, lines)) + len(lines)
            if mid_line and lines:
                lines, mid_line = lines[1:], False
            for line in lines:
                entry = audit_line(line)
                if entry is not None:
                    entries += 1
                    key = entry._replace(allowed=True)
                    counted[key] += 1
                    refused[key] += not entry.allowed
            if len(rest) > READ_BYTES:  # no line of an audit log is as long
                position, rest, mid_line = position + len(rest), b"", True
        return position, counted, refused, entries

    def _instant(self, second: str) -> datetime | None:
        if second not in self._instants:
            try:
                self._instants[second] = (
                    datetime.fromisoformat(second).replace(tzinfo=self.zone).astimezone(UTC)
                )
            except (ValueError, OverflowError):
                self._instants[second] = None
        return self._instants[second]


def _newest(file: LogFile) -> int:
    return max(0, file.size // BEGIN_BYTES - 1) * BEGIN_BYTES
