from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ingest.lake.rows import table_of
from ingest.lake.store import Lake
from ingest.messages import count_text
from ingest.recordings.recording import Progress, Recording
from ingest.records import Observed, Skip

BATCH_BYTES = 32 * 1024 * 1024

MAX_SKIPS_SHOWN = 50


@dataclass(slots=True)
class ImportSummary:
    cluster: str
    directory: str
    flink_version: str | None = None
    jobs: set[str] = field(default_factory=set)
    records: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    skips: list[Skip] = field(default_factory=list)

    def count(self, observed: Observed) -> None:
        for record in observed.records:
            self.records[table_of(record).name] += 1
            if isinstance(record, Skip):
                self.skipped[record.reason] += 1
                if len(self.skips) < MAX_SKIPS_SHOWN:
                    self.skips.append(record)


def import_recording(
    directory: Path,
    cluster: str,
    lake: Lake,
    *,
    log_time_zone: str = "UTC",
    log_layout: str = "flink",
    progress: Progress = lambda _: None,
) -> ImportSummary:
    recording = Recording(directory, cluster, log_time_zone, log_layout)
    summary = ImportSummary(cluster, str(directory))
    batch: list[Observed] = []
    batch_bytes = 0

    def commit() -> None:
        if batch:
            lake.append(batch)
            progress(
                f"committed {count_text(sum(len(reading.records) for reading in batch), 'record')}"
            )
            batch.clear()

    for observed, size_bytes in recording.read(progress):
        for reading in observed:
            summary.count(reading)
        batch.extend(observed)
        batch_bytes += size_bytes
        if batch_bytes >= BATCH_BYTES:
            commit()
            batch_bytes = 0
    commit()
    summary.jobs, summary.flink_version = recording.jobs_seen, recording.flink_version
    return summary
