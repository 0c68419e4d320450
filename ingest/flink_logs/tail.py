from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO, Any
from zoneinfo import ZoneInfo

from ingest.flink_logs.cursors import HEAD_BYTES, FileCursor, TailCursor, fingerprint
from ingest.flink_logs.documents import READ_BYTES
from ingest.flink_logs.files import UNREADABLE, LogFile, find, no_header, unreadable
from ingest.flink_logs.layouts import Layout, layout_of, zone_of
from ingest.flink_logs.log_reader import LogReader
from ingest.flink_logs.names import age_order, is_packed, is_rotated
from ingest.garbage_collection import without_garbage_collection
from ingest.records import LogRecord, Observed, Skip
from ingest.source_read import SourceRead
from ingest.sources import LogSource

QUIET_CYCLES = 2
MAX_RECORDS_PER_CYCLE = 200_000
LEAST_SHARE_BYTES = 4 * 1024 * 1024
NO_HEADER_AFTER_BYTES = 64 * 1024


def read_new(
    log_source: LogSource,
    cluster: str,
    cursor: dict[str, Any] | None,
    at: datetime,
    *,
    final: bool = False,
) -> SourceRead:
    layout = layout_of(log_source.layout)
    cycle = _Cycle(
        TailCursor.from_json(cursor), layout, zone_of(log_source.time_zone, layout), final
    )
    files, skips = find(log_source.globs, log_source.own_globs)
    with without_garbage_collection():
        cycle.run(files, log_source.max_bytes_per_cycle)
    observed = (Observed(cluster, at, "log", tuple(cycle.records)),) if cycle.records else ()
    return SourceRead(observed, cycle.cursor.to_json(), (*skips, *cycle.skips))


@dataclass(slots=True)
class _Cycle:
    cursor: TailCursor
    layout: Layout
    zone: ZoneInfo
    final: bool
    records: list[LogRecord] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    _by_process: dict[str, list[FileCursor]] = field(default_factory=dict)

    def run(self, files: Sequence[LogFile], budget_bytes: int) -> None:
        self.cursor.cycle += 1
        self._by_process = self.cursor.by_process()
        due = [file for file in files if self._is_due(file)]
        # Files that have waited longest come first, then the oldest file of each process.
        due.sort(key=lambda file: (self._served_cycle(file), age_order(file.path)))
        share = max(LEAST_SHARE_BYTES, budget_bytes // max(len(due), 1))
        updates: dict[str, FileCursor] = {}
        for file in due:
            if budget_bytes <= 0 or len(self.records) >= MAX_RECORDS_PER_CYCLE:
                break
            read_bytes, updated = self._read(file, min(share, budget_bytes))
            budget_bytes -= read_bytes
            if updated:
                updates[file.path] = updated
        # Last, since a renamed file must be found by its old name until here.
        self.cursor.forget_missing([file.path for file in files])
        self.cursor.files.update(updates)

    def _served_cycle(self, file: LogFile) -> int:
        progress = self.cursor.files.get(file.path)
        return progress.served_cycle if progress else 0

    def _is_due(self, file: LogFile) -> bool:
        progress = self.cursor.files.get(file.path)
        if (
            progress is None
            or (progress.size, progress.changed) != (file.size, file.changed)
            or progress.more
        ):
            return True
        if not progress.pending:
            return False
        progress.quiet_cycles += 1
        return self._has_ended(progress)

    def _has_ended(self, file: FileCursor) -> bool:
        if self.final or is_packed(file.path):
            return True
        return file.quiet_cycles >= (1 if is_rotated(file.path) else QUIET_CYCLES)

    def _read(self, file: LogFile, limit_bytes: int) -> tuple[int, FileCursor | None]:
        try:
            with file.open() as stream:
                head = stream.read(HEAD_BYTES)
                progress = self.cursor.recognise(file.path, head, file.size, self._by_process)
                return self._read_on(file, stream, head, progress, limit_bytes)
        except FileNotFoundError:
            return 0, None
        except UNREADABLE as error:
            previous = self.cursor.files.get(file.path)
            if previous is None or (previous.size, previous.changed) != (file.size, file.changed):
                self.skips.append(unreadable(file.path, error))
            failed = previous or FileCursor(file.path)
            failed.size, failed.changed, failed.more = file.size, file.changed, False
            return 0, failed

    def _read_on(
        self,
        file: LogFile,
        stream: IO[bytes],
        head: bytes,
        progress: FileCursor,
        limit_bytes: int,
    ) -> tuple[int, FileCursor]:
        is_unchanged = (progress.size, progress.changed) == (file.size, file.changed)
        reader = LogReader(self.layout, self.zone, file=file.path, begin=progress)
        position, is_at_end = progress.offset, False
        with suppress(EOFError):
            stream.seek(position)
        while (
            position - progress.offset < limit_bytes and len(self.records) < MAX_RECORDS_PER_CYCLE
        ):
            data = stream.read(READ_BYTES)
            if not data:
                is_at_end = True
                break
            position += len(data)
            self.records += reader.feed(data)
        read_to = max(position, progress.read_to)
        progress.quiet_cycles = progress.quiet_cycles if is_unchanged else 0
        if is_at_end and reader.pending and self._has_ended(progress):
            self.records += reader.close()
        self.skips += reader.skips
        headers = progress.headers + reader.headers
        has_no_records = not headers and position >= (1 if self.final else NO_HEADER_AFTER_BYTES)
        if has_no_records and not progress.reported:
            self.skips.append(no_header(file.path))
        is_hollow = not head.strip(b"\0")
        return position - progress.offset, FileCursor(
            path=file.path,
            size=file.size,
            changed=file.changed,
            head="" if is_hollow else fingerprint(head),
            head_bytes=0 if is_hollow else len(head),
            read_to=read_to,
            more=not is_at_end,
            quiet_cycles=progress.quiet_cycles,
            served_cycle=self.cursor.cycle,
            headers=headers,
            reported=has_no_records,
            **reader.resumption(),
        )
