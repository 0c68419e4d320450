from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from webapp.lib import scopes
from webapp.replication.models import Replica
from webapp.replication.work_keys import key_of
from webapp.work.models import PipelineRun

LOOK_BACK = timedelta(days=30)
MOST_ROUNDS = 5_000
LEAST_SHARE = 0.1
"""Of the largest round's bytes: smaller rounds spend their time on the start of the process."""


@dataclass(frozen=True)
class CopyRate:
    files_per_s: float
    bytes_per_s: float

    def duration_ms(self, files: int, size_bytes: int) -> float:
        return 1000 * max(files / self.files_per_s, size_bytes / self.bytes_per_s)


def storage_of(uri: str) -> str:
    """``scheme://authority`` of a canonical URI (for object storage the bucket), or ``file:``."""
    scheme, separator, rest = uri.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}" if separator else "file:"


def copy_rates(now: datetime) -> dict[str, CopyRate]:
    """Storage that was read → rate, from copies that the viewer may see."""
    sources = {key_of(copy): storage_of(copy.source) for copy in Replica.objects.all()}
    # Runs are hidden from some viewers; only durations and sizes are read here.
    with scopes.everything():
        runs = PipelineRun.objects.filter(
            key__in=sources, state=PipelineRun.State.DONE, started_at__gt=now - LOOK_BACK
        )
        rows = list(runs.order_by("-id").values("key", "counts", "duration_ms")[:MOST_ROUNDS])
    rounds: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["duration_ms"] and row["counts"].get("copied_bytes"):
            rounds.setdefault(sources[row["key"]], []).append(row)
    return {storage: _rate(rows) for storage, rows in rounds.items()}


def _rate(rows: Sequence[Mapping[str, Any]]) -> CopyRate:
    largest = max(row["counts"]["copied_bytes"] for row in rows)
    large_rounds = [row for row in rows if row["counts"]["copied_bytes"] >= LEAST_SHARE * largest]
    duration_s = sum(row["duration_ms"] for row in large_rounds) / 1000
    files, size_bytes = (
        sum(row["counts"][name] for row in large_rounds)
        for name in ("copied_files", "copied_bytes")
    )
    return CopyRate(files / duration_s, size_bytes / duration_s)
