from collections import defaultdict
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Any

import pyarrow as pa

from ingest.garbage_collection import without_garbage_collection
from ingest.lake.derived import CHECKPOINT_FACTS, REFUSED
from spark_jobs.arrow_schemas import Batches, arrow_schema, batch_from_rows
from spark_jobs.fold.rows import HOUR_MS, Row, RowList, Rows, largest, newest_by, percentile, rank
from spark_jobs.nested_tables import JOB
from spark_jobs.serving import CHECKPOINT_FACT, CHECKPOINT_ROLLUP, OUTCOMES
from spark_jobs.transforms.grouped_batches import groups

LENGTHS_MS = {"hour": HOUR_MS, "day": 24 * HOUR_MS}
ROLLUP = arrow_schema(CHECKPOINT_ROLLUP)
NEW = (*JOB, "trigger_time")

_KEY = tuple(name for name in CHECKPOINT_FACTS.identity if name not in JOB)
_row_key = itemgetter(*_KEY)
_fact_key = itemgetter(*(name for name in CHECKPOINT_FACT.key if name not in JOB))

Period = tuple[str, int]
"""("hour" or "day", its start in epoch ms)"""


def rollup_batches(batches: Batches) -> Iterator[pa.RecordBatch]:
    with without_garbage_collection():
        for group in groups(batches):
            periods = {period for row in group.rows("new") for period in _periods(row)}
            if periods:
                job = dict(zip(JOB, group.key, strict=True))
                rows = rolled_up(group.rows("kept"), periods)
                yield batch_from_rows((row | job for row in rows), ROLLUP)


def rolled_up(kept: Rows, periods: set[Period]) -> Iterator[Row]:
    rows_by_period: dict[Period, list[Row]] = defaultdict(list)
    for row in newest(kept):
        for period in _periods(row):
            if period in periods:
                rows_by_period[period].append(row)
    for (name, start_ms), rows in rows_by_period.items():
        summed = _sum_up(rows)
        if summed["as_of"] is not None:
            yield {"period": name, "period_start": start_ms, **summed}


def newest(kept: Rows) -> Iterator[Row]:
    """One row for each key, as in the database. A retraction voids rows of earlier commits. Of
    valid rows, settled rows count first, then the newest. A retracted key has only an ``as_of``, so
    that the roll-up without this checkpoint replaces the roll-up with it.
    """
    retracted_at: dict[Any, int] = {}
    with_trigger = [row for row in kept if row["trigger_time"] is not None]
    versions: dict[Any, list[Row]] = defaultdict(list)
    for row in with_trigger:
        versions[_row_key(row)].append(row)
        if row["retracted"]:
            fact = _fact_key(row)
            retracted_at[fact] = max(row["commit_seq"], retracted_at.get(fact, 0))
    for row in with_trigger:
        fact = _fact_key(row)
        is_void = None not in fact and row["commit_seq"] < retracted_at.get(fact, 0)
        row |= {"is_valid": not is_void, "is_fact": not row["retracted"]}
    for newest_row in newest_by(
        with_trigger, _KEY, ("is_valid", "is_fact", "final", "observed_at", "commit_seq")
    ):
        instants = (row["observed_at"] for row in versions[_row_key(newest_row)])
        yield {**newest_row, "as_of": largest(*instants)}


def _periods(row: Row) -> list[Period]:
    return [
        (name, row["trigger_time"] // length * length)
        for name, length in LENGTHS_MS.items()
        if row["trigger_time"] is not None
    ]


def _sum_up(rows: RowList) -> Row:
    # Savepoints have another format and schedule: their durations and sizes are left out.
    completed = [row for row in rows if row["outcome"] == "completed" and not row["is_savepoint"]]
    refusals = sum(row["outcome"] == REFUSED for row in rows)
    return {
        **{
            f"{outcome}_count": sum(row["outcome"] == outcome for row in rows)
            for outcome in OUTCOMES
        },
        "savepoint_count": sum(bool(row["is_savepoint"]) for row in rows),
        "preflight_refusals": refusals or None,
        "end_to_end_p95_ms": percentile((row["end_to_end_ms"] for row in completed), 0.95),
        "state_bytes_last": _last_size(completed),
        # Failed checkpoints also used the network.
        "checkpointed_bytes_sum": _sum(
            row["checkpointed_bytes"] for row in rows if row["checkpointed_bytes"] is not None
        ),
        "as_of": largest(*(row["as_of"] for row in rows)),
    }


def _last_size(completed: Rows) -> int | None:
    sizes = (
        (row["trigger_time"], rank(row["checkpoint_id"]), row["state_bytes"])
        for row in completed
        if row["state_bytes"] is not None
    )
    newest = max(sizes, default=None)
    return None if newest is None else int(newest[-1])


def _sum(values: Iterable[int]) -> int | None:
    summands = list(values)
    total = sum(summands)
    return total if summands and abs(total) < 2**63 else None
