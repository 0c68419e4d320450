import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import quote

from ingest.due import waiting
from ingest.errors import IngestError, Retryable
from ingest.flink_logs.cursors import HEAD_BYTES, FileCursor, TailCursor, fingerprint
from ingest.flink_logs.files import no_header
from ingest.flink_logs.layouts import layout_of, zone_of
from ingest.flink_logs.log_reader import LogReader
from ingest.flink_logs.names import age_order
from ingest.json_members import object_list
from ingest.records import LogRecord, Observed, Skip
from ingest.source_read import SourceRead
from ingest.sources import LogSource

SOURCE = "log_endpoint"
LEAST_INTERVAL_S = 60.0
BYTES_PER_S = 256 * 1024
MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_FILES = 50
QUIET_READINGS = 2

_LOG_NAME = re.compile(r"\.log(\.\d{1,4})?$")

Fetch = Callable[[str], AsyncIterator[bytes]]


@dataclass(slots=True)
class Transfer:
    """A budget of bytes, perhaps of several clusters."""

    left_bytes: int

    def take(self, size: int) -> bool:
        if size > self.left_bytes:
            return False
        self.left_bytes -= size
        return True


@dataclass(frozen=True, slots=True)
class ListedLog:
    name: str
    size: int


def listed_logs(body: Any) -> list[ListedLog]:
    """Log files, the oldest of a process first. Files of output and of state backends are left out."""
    logs = []
    for entry in object_list(body, "logs"):
        name, size = entry.get("name"), entry.get("size")
        if (
            isinstance(name, str)
            and isinstance(size, int)
            and size > 0
            and _LOG_NAME.search(name)
            and "/" not in name
        ):
            logs.append(ListedLog(name, size))
    return sorted(logs, key=lambda log: age_order(log.name))[:MAX_FILES]


async def read_new(
    log_source: LogSource,
    cluster: str,
    listing: Any,
    fetch: Fetch,
    cursor: dict[str, Any],
    at: datetime,
    transfer: Transfer,
) -> SourceRead:
    """``listing`` is the body of ``/jobmanager/logs``. Raises ``Refused`` for a wrong layout or time
    zone.
    """
    files = listed_logs(listing)
    reader = _Reader(log_source, TailCursor.from_json(cursor), fetch)
    for file in files:
        if reader.needs(file) and transfer.take(file.size):
            await reader.read(file)
    reader.cursor.cycle += 1
    reader.cursor.forget_missing([file.name for file in files])
    reader.cursor.files.update(reader.updates)
    total = sum(file.size for file in files)
    wait_s = max(LEAST_INTERVAL_S, total / BYTES_PER_S)
    observed = (
        (Observed(cluster, at, SOURCE, (*reader.records, *reader.skips)),)
        if reader.records or reader.skips
        else ()
    )
    return SourceRead(observed, {**reader.cursor.to_json(), **waiting(at, wait_s)})


@dataclass(slots=True)
class _Reader:
    log_source: LogSource
    cursor: TailCursor
    fetch: Fetch
    records: list[LogRecord] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    updates: dict[str, FileCursor] = field(default_factory=dict)

    def needs(self, file: ListedLog) -> bool:
        """Whether it has changed, or has been quiet so long that its last record is complete."""
        cursor = self.cursor.files.get(file.name)
        if file.size > MAX_FILE_BYTES:
            self._skip_large(file, cursor)
            return False
        if cursor is None or cursor.size != file.size:
            return True
        cursor.quiet_cycles += 1
        return cursor.pending and cursor.quiet_cycles == QUIET_READINGS

    async def read(self, file: ListedLog) -> None:
        path = f"/jobmanager/logs/{quote(file.name)}"
        layout = layout_of(self.log_source.layout)
        zone = zone_of(self.log_source.time_zone, layout)
        head, cursor, reader, position = b"", FileCursor(file.name), None, 0
        records: list[LogRecord] = []
        try:
            async for piece in self.fetch(path):
                position += len(piece)
                if reader is None:
                    head += piece
                    if len(head) < HEAD_BYTES and position < file.size:
                        continue
                    piece = head
                    cursor = self.cursor.recognise(
                        file.name, head[:HEAD_BYTES], file.size, self.cursor.by_process()
                    )
                    reader = LogReader(layout, zone, file=file.name, begin=cursor)
                data = piece[max(0, len(piece) - (position - cursor.offset)) :]
                if data:
                    records += reader.feed(data)
                if position > MAX_FILE_BYTES:
                    break
        except IngestError as error:
            reason = "timeout" if isinstance(error, Retryable) else "unreadable_file"
            self.skips.append(
                Skip(path, reason, f"{error} It is read again from where it was left.")
            )
            return
        if reader is None:
            return
        if reader.pending and cursor.size == file.size:
            records += reader.close()
        self.records += records
        self.skips += reader.skips
        headers = cursor.headers + reader.headers
        no_records = not headers and position > HEAD_BYTES
        if no_records and not cursor.reported:
            self.skips.append(no_header(path))
        self.updates[file.name] = FileCursor(
            path=file.name,
            size=position,
            head=fingerprint(head[:HEAD_BYTES]),
            head_bytes=min(len(head), HEAD_BYTES),
            read_to=position,
            headers=headers,
            reported=no_records,
            **reader.resumption(),
        )

    def _skip_large(self, file: ListedLog, cursor: FileCursor | None) -> None:
        if cursor is None or not cursor.reported:
            mebibytes = MAX_FILE_BYTES // (1024 * 1024)
            detail = (
                f"The log endpoint sends files whole, and above {mebibytes} MiB they are not "
                "fetched; give this cluster a log glob."
            )
            self.skips.append(Skip(f"/jobmanager/logs/{file.name}", "too_large", detail))
        self.updates[file.name] = FileCursor(file.name, size=file.size, reported=True)
