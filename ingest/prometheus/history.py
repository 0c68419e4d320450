"""What a Prometheus holds of the time before Weir asked it: a sample every five minutes of the
tasks of jobs that run now, read back from the newest to the oldest. The rows have a source of their
own: charts show them, rules do not judge by them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from ingest.errors import IngestError
from ingest.flink_rest.faults import Unanswered
from ingest.messages import message
from ingest.prometheus import rows
from ingest.prometheus.collector import MAX_STEPS, SeriesClient, asked_series
from ingest.prometheus.names import HISTORY, TASK_NAMES, selector
from ingest.records import Observed, Record, Skip, VertexMetrics
from ingest.source_read import SourceRead
from ingest.sources import ClusterSource, PrometheusSource

STEP_S = 300
"""As long as Prometheus takes a sample for the present one: at longer steps some would be seen by
none.
"""
CHUNK_S = MAX_STEPS * STEP_S
DAY_S = 86_400
MOST_REQUESTS = 60
"""Of one cluster and cycle."""


@dataclass(slots=True)
class HistoryBudget:
    rows: int = 5_000
    values: int = 400_000
    """Of subtasks, columns and instants."""

    def share(self, clusters: int) -> "HistoryBudget":
        return HistoryBudget(
            max(1, self.rows // max(1, clusters)), max(1, self.values // max(1, clusters))
        )

    def spend(self, windows: list[tuple[datetime, VertexMetrics]]) -> None:
        self.rows -= len(windows)
        self.values -= sum((row.parallelism or 1) * len(TASK_NAMES) for _, row in windows)

    @property
    def is_left(self) -> bool:
        return self.rows > 0 and self.values > 0


@dataclass(frozen=True, slots=True)
class Progress:
    """Read from ``begun_s`` back to ``before_s``, excluded; wanted from ``oldest_s``. All are epoch
    seconds at steps.

    ``after_job``: up to which job the part before is read already.
    """

    begun_s: int
    before_s: int
    oldest_s: int
    after_job: str = ""

    @property
    def is_done(self) -> bool:
        return self.before_s <= self.oldest_s

    def after(self, job_id: str, is_last: bool) -> "Progress":
        if not is_last:
            return replace(self, after_job=job_id)
        return Progress(self.begun_s, max(self.oldest_s, self.before_s - CHUNK_S), self.oldest_s)

    def saved(self) -> dict[str, Any]:
        return asdict(self)


def progress_in(cursor: Mapping[str, Any]) -> Progress | None:
    """``None`` for a cluster whose history nobody began to read."""
    match cursor:
        case {
            "begun_s": int(begun_s),
            "before_s": int(before_s),
            "oldest_s": int(oldest_s),
            "after_job": str(after_job),
        }:
            return Progress(begun_s, before_s, oldest_s, after_job)
    return None


def begun(cursor: Mapping[str, Any], first_s: int, days: int) -> Progress:
    """Where to go on; ``first_s``: an instant that was read as the present, none of whose minute is
    read again as history.
    """
    before_s = -(-(first_s // 60 * 60) // STEP_S) * STEP_S
    return progress_in(cursor) or Progress(before_s, before_s, before_s - days * DAY_S)


async def read_history(
    client: SeriesClient,
    source: ClusterSource,
    cursor: Mapping[str, Any],
    present: SourceRead,
    budget: HistoryBudget,
) -> SourceRead:
    """``present``: what the same cycle read of now, which names the jobs."""
    jobs = sorted(
        {
            row.job_id
            for part in present.observed
            for row in part.records
            if isinstance(row, VertexMetrics)
        }
    )
    prometheus = source.prometheus or PrometheusSource("")
    if not prometheus.history_days or "until_s" not in present.cursor:
        return SourceRead((), dict(cursor))
    at = begun(cursor, present.cursor["until_s"], prometheus.history_days)
    windows: list[tuple[datetime, VertexMetrics]] = []
    skips: list[Skip] = []
    requests = 0
    while jobs and not at.is_done and budget.is_left and requests < MOST_REQUESTS:
        job_id = next((name for name in jobs if name > at.after_job), "")
        if job_id:
            requests += 1
            start_s = max(at.oldest_s, at.before_s - CHUNK_S)
            try:
                query = selector(TASK_NAMES, prometheus.selector, job_id)
                series = await asked_series(client, query, (start_s, at.before_s - STEP_S, STEP_S))
            except Unanswered as error:
                return SourceRead(
                    _observed(source.name, windows),
                    at.saved(),
                    (Skip(message("job {job_id:name}", job_id=job_id), error.reason, str(error)),),
                )
            except IngestError as error:
                skips.append(
                    Skip(
                        message("job {job_id:name}", job_id=job_id),
                        getattr(error, "reason", "error"),
                        message("History was left out: {error:text}", error=str(error)),
                    )
                )
                series = []
            read = list(rows.Subtasks(series).rows(job_id, placed=False))
            budget.spend(read)
            windows += read
        at = at.after(job_id, is_last=not job_id or job_id == jobs[-1])
    return SourceRead(_observed(source.name, windows), at.saved(), tuple(skips))


def _observed(cluster: str, windows: list[tuple[datetime, VertexMetrics]]) -> tuple[Observed, ...]:
    return tuple(Observed(cluster, at, HISTORY, records) for at, records in _by_instant(windows))


def _by_instant(
    windows: list[tuple[datetime, VertexMetrics]],
) -> Iterator[tuple[datetime, tuple[Record, ...]]]:
    records: dict[datetime, list[Record]] = {}
    for at, row in windows:
        records.setdefault(at, []).append(row)
    for at in sorted(records):
        yield at, tuple(records[at])


def instant(at_s: int) -> datetime:
    return datetime.fromtimestamp(at_s, UTC)
