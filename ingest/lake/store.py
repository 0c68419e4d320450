from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from ingest.lake import commits
from ingest.lake.derived import ALL_TABLES
from ingest.lake.reader import LakeReader
from ingest.lake.tables import TABLES
from ingest.records import Observed

KEEP_REPLACED_FILES = timedelta(hours=24)


@dataclass(frozen=True)
class Lake(LakeReader):
    def append(self, observed: Iterable[Observed]) -> dict[str, int]:
        return commits.append(self, observed, TABLES)

    def compact(self, table: str) -> dict[str, object]:
        delta = self.open_or_none(ALL_TABLES[table])
        with self.readable_errors(ALL_TABLES[table], checks_files=True):
            return dict(delta.optimize.compact()) if delta else {}

    def forget(self, table: str, before: date, spared_clusters: Sequence[str]) -> int:
        """Delete rows of earlier days, except of ``spared_clusters``; returns their number."""
        delta = self.open_or_none(ALL_TABLES[table])
        if delta is None:
            return 0
        names = ", ".join("'" + name.replace("'", "''") + "'" for name in spared_clusters)
        spared = f" AND cluster NOT IN ({names})" if names else ""
        with self.readable_errors(ALL_TABLES[table], checks_files=True):
            return int(delta.delete(f"date < '{before}'{spared}")["num_deleted_rows"])

    def vacuum(self, table: str) -> list[str]:
        delta = self.open_or_none(ALL_TABLES[table])
        if delta is None:
            return []
        hours = int(KEEP_REPLACED_FILES.total_seconds() // 3600)
        with self.readable_errors(ALL_TABLES[table], checks_files=True):
            return delta.vacuum(
                retention_hours=hours, dry_run=False, enforce_retention_duration=False
            )
