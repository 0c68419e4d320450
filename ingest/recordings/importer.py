"""A recording (folder with ``rest.jsonl`` and ``logs/``) → the lake, recorded times kept."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from ingest.errors import Refused
from ingest.lake.rows import table_of
from ingest.lake.store import Lake
from ingest.recordings.polls import Polls
from ingest.recordings.rest_file import read_rest_file
from ingest.records import Observed, Skip

BATCH_BYTES = 32 * 1024 * 1024
"""Recorded bytes that go into one commit per table."""

MAX_SKIPS_SHOWN = 50

Progress = Callable[[str], None]


@dataclass(slots=True)
class ImportSummary:
    """What an import brought. ``skips`` holds the first ones, ``skipped`` counts all of them by reason."""

    cluster: str
    directory: str
    flink_version: str | None = None
    first_at: datetime | None = None
    last_at: datetime | None = None
    jobs: set[str] = field(default_factory=set)
    records: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    skips: list[Skip] = field(default_factory=list)
    commits: dict[str, int] = field(default_factory=dict)

    def count(self, observed: Observed) -> None:
        self.first_at = min(self.first_at or observed.observed_at, observed.observed_at)
        self.last_at = max(self.last_at or observed.observed_at, observed.observed_at)
        for record in observed.records:
            self.records[table_of(record).name] += 1
            if isinstance(record, Skip):
                self.skipped[record.reason] += 1
                if len(self.skips) < MAX_SKIPS_SHOWN:
                    self.skips.append(record)


def import_recording(
    directory: Path, cluster: str, lake: Lake, *, log_time_zone: str = "UTC", progress: Progress = lambda _: None
) -> ImportSummary:
    """Read one recording and append it to the lake, in bounded batches of one commit per table.

    Importing it again appends the same rows again; readers fold them by the tables' identities.
    Raises ``Refused`` where the folder is no recording.
    """
    rest_files = sorted(path for path in directory.glob("rest*.jsonl*") if path.suffix in (".jsonl", ".gz"))
    if not rest_files and not (directory / "logs").is_dir():
        raise Refused(f"{directory} is no recording: it holds neither rest.jsonl (or rest.jsonl.gz) nor logs/.")
    summary = ImportSummary(cluster, str(directory))
    batch = _Batch(lake, summary, progress)
    polls = Polls(cluster, _declared_version(directory))
    for path in rest_files:
        progress(f"reading {path.name}")
        for observed, size_bytes in _rest(path, cluster, polls):
            batch.add(observed, size_bytes)
    batch.flush()
    summary.jobs, summary.flink_version = polls.jobs_seen, polls.flink_version
    return summary


class _Batch:
    """Gathers readings up to a bound, then commits them."""

    def __init__(self, lake: Lake, summary: ImportSummary, progress: Progress) -> None:
        self._lake, self._summary, self._progress = lake, summary, progress
        self._observed: list[Observed] = []
        self._bytes = 0

    def add(self, observed: tuple[Observed, ...], size_bytes: int) -> None:
        for reading in observed:
            self._summary.count(reading)
        self._observed.extend(observed)
        self._bytes += size_bytes
        if self._bytes >= BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        if self._observed:
            self._summary.commits.update(self._lake.append(self._observed))
            self._progress(f"committed {sum(len(reading.records) for reading in self._observed)} records")
        self._observed, self._bytes = [], 0


def _rest(path: Path, cluster: str, polls: Polls) -> Iterator[tuple[tuple[Observed, ...], int]]:
    """Readings, each with the recorded bytes that it took."""
    for recorded in read_rest_file(path):
        if recorded.skip:
            yield (Observed(cluster, recorded.at, "rest", (recorded.skip,)),), recorded.size_bytes
        elif recorded.answer:
            yield polls.add(recorded.answer, recorded.size_bytes), recorded.size_bytes
    yield polls.finish(), 0


def _declared_version(directory: Path) -> str | None:
    """The Flink version in ``scenario.json``, for recordings that begin before ``/config`` was asked."""
    try:
        text = (directory / "scenario.json").read_text(encoding="utf-8", errors="replace")[:1_000_000]
        version = json.loads(text).get("version")
    except (OSError, ValueError, AttributeError, RecursionError):
        return None
    return version if isinstance(version, str) else None
