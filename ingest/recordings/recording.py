"""One recording on disk: a folder with ``rest.jsonl`` (or ``.gz``) and ``logs/``, perhaps copies of ``_metadata``."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from ingest.errors import Refused
from ingest.flink_logs.files import read_files
from ingest.flink_logs.layouts import layout_of, zone_of
from ingest.flink_rest.payloads.fields import clean_text
from ingest.flink_rest.versions import MAX_VERSION_CHARS
from ingest.recordings.polls import Polls
from ingest.recordings.rest_file import read_rest_file
from ingest.recordings.snapshots import Snapshots
from ingest.records import LogRecord, Observed

# What a process printed, and what RocksDB logs (Flink moves that beside its own logs): both have no layout.
_NOT_A_LOG = re.compile(r"\..*|.*\.(out|err)|(.*_)?LOG(\.old.*)?")

Progress = Callable[[str], None]
Piece = tuple[tuple[Observed, ...], int]
"""Readings, and the recorded bytes that were read for them."""


class Recording:
    """Raises ``Refused`` where the folder is no recording, or time zone or layout of its logs make no sense.

    ``jobs_seen`` and ``flink_version`` are known once :meth:`read` has come to its end.
    """

    def __init__(self, directory: Path, cluster: str, log_time_zone: str = "UTC", log_layout: str = "flink") -> None:
        self._cluster = cluster
        self._log_time_zone = log_time_zone
        self._log_layout = log_layout
        self._rest_files = sorted(path for path in directory.glob("rest*.jsonl*") if path.suffix in (".jsonl", ".gz"))
        logs = directory / "logs"
        self._log_files = sorted(path for path in logs.rglob("*") if path.is_file() and not _NOT_A_LOG.fullmatch(path.name))
        if not self._rest_files and not logs.is_dir():
            raise Refused(f"{directory} is no recording: it holds neither rest.jsonl (or rest.jsonl.gz) nor logs/.")
        zone_of(log_time_zone, layout_of(log_layout))  # nonsense is refused before anything is read
        self._polls = Polls(cluster, _declared_version(directory))
        self._snapshots = Snapshots(directory, cluster)

    @property
    def jobs_seen(self) -> set[str]:
        return self._polls.jobs_seen

    @property
    def flink_version(self) -> str | None:
        return self._polls.flink_version

    def read(self, progress: Progress = lambda _: None) -> Iterator[Piece]:
        """Everything in it, piece by piece in bounded memory; recorded times are kept."""
        for path in self._rest_files:
            progress(f"reading {path.name}")
            yield from self._rest(path)
        if self._log_files:
            progress(f"reading {len(self._log_files)} log files")
            yield from self._logs()

    def _rest(self, path: Path) -> Iterator[Piece]:
        for recorded in read_rest_file(path):
            if recorded.skip:
                yield (Observed(self._cluster, recorded.at, "rest", (recorded.skip,)),), recorded.size_bytes
            elif recorded.answer:
                yield from self._with_snapshots(self._polls.add(recorded.answer, recorded.size_bytes), recorded.size_bytes)
        yield from self._with_snapshots(self._polls.finish(), 0)

    def _with_snapshots(self, observed: tuple[Observed, ...], size_bytes: int) -> Iterator[Piece]:
        yield observed, size_bytes
        for reading, read_bytes in self._snapshots.beside(observed):
            yield (reading,), read_bytes

    def _logs(self) -> Iterator[Piece]:
        paths = [str(path) for path in self._log_files]
        for observed in read_files(paths, cluster=self._cluster, layout=self._log_layout, time_zone=self._log_time_zone):
            yield (observed,), sum(len(record.message) for record in observed.records if isinstance(record, LogRecord))


def _declared_version(directory: Path) -> str | None:
    """The Flink version in ``scenario.json``, for recordings that begin before ``/config`` was asked."""
    try:
        text = (directory / "scenario.json").read_text(encoding="utf-8", errors="replace")[:1_000_000]
        version = json.loads(text).get("version")
    except (OSError, ValueError, AttributeError, RecursionError):
        return None
    return clean_text(version, MAX_VERSION_CHARS) if isinstance(version, str) else None
