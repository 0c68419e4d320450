import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import quote

from ingest.due import still_waits
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
"""The average rate: a log of 16 MiB is fetched about once a minute."""
MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_FILES = 50
QUIET_READINGS = 2

_LOG_NAME = re.compile(r"\.log(\.\d{1,4})?$")

Fetch = Callable[[str], AsyncIterator[bytes]]
"""Path → pieces of its body; raises an ``IngestError``."""


@dataclass(slots=True)
class Transfer:
    left: int

    def take(self, size: int) -> bool:
        if size > self.left:
            return False
        self.left -= size
        return True


@dataclass(frozen=True, slots=True)
class ListedLog:
    name: str
    size: int


def is_due(cursor: dict[str, Any], now: datetime) -> bool:
    due_at, wait_s = cursor.get("due_at"), cursor.get("wait_s")
    if not isinstance(due_at, int | float) or not isinstance(wait_s, int | float):
        return True
    return not still_waits(now.timestamp(), due_at, wait_s)


def waiting(at: datetime, wait_s: float) -> dict[str, float]:
    return {"due_at": at.timestamp() + wait_s, "wait_s": wait_s}


def listed_logs(body: Any) -> list[ListedLog]:
    """Oldest of each process first; output files and state backends' own logs are left out."""
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
    """``listing`` is the body of ``/jobmanager/logs``. Raises ``Refused`` for a layout or time zone
    that makes no sense.
    """
    files = listed_logs(listing)
    reader = _Reader(log_source, TailCursor.from_json(cursor), fetch)
    for file in files:
        if reader.wants(file) and transfer.take(file.size):
            await reader.read(file)
    reader.cursor.cycle += 1
    reader.cursor.leave([file.name for file in files])
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

    def wants(self, file: ListedLog) -> bool:
        known = self.cursor.files.get(file.name)
        if file.size > MAX_FILE_BYTES:
            self._too_large(file, known)
            return False
        if known is None or known.size != file.size:
            return True
        known.quiet_cycles += 1
        return known.pending and known.quiet_cycles == QUIET_READINGS

    async def read(self, file: ListedLog) -> None:
        path = f"/jobmanager/logs/{quote(file.name)}"
        layout = layout_of(self.log_source.layout)
        zone = zone_of(self.log_source.time_zone, layout)
        head, known, reader, position = b"", FileCursor(file.name), None, 0
        records: list[LogRecord] = []
        try:
            async for piece in self.fetch(path):
                position += len(piece)
                if reader is None:
                    head += piece
                    if len(head) < HEAD_BYTES and position < file.size:
                        continue
                    piece = head
                    known = self.cursor.recognise(
                        file.name, head[:HEAD_BYTES], file.size, self.cursor.by_process()
                    )
                    reader = LogReader(layout, zone, file=file.name, begin=known)
                new = (
                    piece[max(0, len(piece) - (position - known.offset)) :]
                    if position > known.offset
                    else b""
                )
                if new:
                    records += reader.feed(new)
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
        if reader.pending and known.size == file.size:
            records += reader.close()
        self.records += records
        self.skips += reader.skips
        headers = known.headers + reader.headers
        no_records = not headers and position > HEAD_BYTES
        if no_records and not known.reported:
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

    def _too_large(self, file: ListedLog, known: FileCursor | None) -> None:
        if known is None or not known.reported:
            mebibytes = MAX_FILE_BYTES // (1024 * 1024)
            detail = (
                f"The log endpoint sends files whole, and above {mebibytes} MiB they are not "
                "fetched; give this cluster a log glob."
            )
            self.skips.append(Skip(f"/jobmanager/logs/{file.name}", "too_large", detail))
        self.updates[file.name] = FileCursor(file.name, size=file.size, reported=True)
