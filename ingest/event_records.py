"""Records of a log that Weir writes itself, of what an API reports as events."""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from ingest.cluster_run import ClusterRun
from ingest.records import LogRecord, Observed, Skip
from ingest.source_read import SourceRead

FILE = "kubernetes"
MAX_AHEAD_MS = 3_600_000
"""Events further ahead are left out: their clock is wrong."""


def log_record(
    process: str, at_ms: int, level: str, logger: str, message: str, file: str = FILE
) -> LogRecord:
    ts, record_hash = datetime.fromtimestamp(at_ms / 1000, UTC), digest(f"{at_ms} {message}")[:32]
    return LogRecord(process, ts, level, logger, message, record_hash, 0, file, 0)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def read_of(
    run: ClusterRun,
    source: str,
    at: datetime,
    records: Sequence[LogRecord],
    cursor: dict[str, Any],
    skips: tuple[Skip, ...] = (),
) -> SourceRead:
    observed = Observed(run.cluster.name, at, source, tuple(records))
    return SourceRead((observed,) if records else (), cursor, skips)
