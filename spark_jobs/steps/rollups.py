from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

import pyarrow as pa

from ingest.garbage_collection import without_garbage_collection
from ingest.lake.derived import CHECKPOINT_FACTS, REFUSED
from spark_jobs.arrow_schemas import arrow_schema, batch_from_rows
from spark_jobs.fold.rows import HOUR_MS, Row, largest, newest_by, percentile, rank
from spark_jobs.nested_tables import JOB
from spark_jobs.serving import CHECKPOINT_FACT, CHECKPOINT_ROLLUP, OUTCOMES
from spark_jobs.transforms.grouped_batches import groups

LENGTHS_MS = {"hour": HOUR_MS, "day": 24 * HOUR_MS}
ROLLUP = arrow_schema(CHECKPOINT_ROLLUP)
NEW = (*JOB, "trigger_time")

_KEY = tuple(name for name in CHECKPOINT_FACTS.identity if name not in JOB)
_key = itemgetter(*_KEY)
_fact = itemgetter(*(name for name in CHECKPOINT_FACT.key if name not in JOB))

Period = tuple[str, int]
"""Hour or day, and its start."""


def rollup_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Of hours and days that have ``new`` facts, from all ``kept`` facts of their days."""
    with without_garbage_collection():
        for group in groups(batches):
            if touched := {period for row in group.rows("new") for period in _periods(row)}:
                of_job = dict(zip(JOB, group.key, strict=True))
                yield batch_from_rows(
                    (row | of_job for row in rolled_up(group.rows("kept"), touched)), ROLLUP
                )


def rolled_up(kept: Iterable[dict[str, Any]], touched: set[Period]) -> Iterator[dict[str, Any]]:
    of_periods: dict[Period, list[Row]] = defaultdict(list)
    for row in newest(kept):
        for period in _periods(row):
            if period in touched:
                of_periods[period].append(row)
    for (name, start_ms), rows in of_periods.items():
        summed = _sum_up(rows)
        if summed["as_of"] is not None:
            yield {"period": name, "period_start": start_ms, **summed}


def newest(kept: Iterable[dict[str, Any]]) -> Iterator[Row]:
    """Each key once, as in the database. A retraction voids earlier commits of its key; of the rest
    a settled row goes before an open one, then the newest. A retracted key has no figures; its
    ``as_of`` is that of the voided row, so that the roll-up without it replaces the one with it.
    """
    back: dict[Any, int] = {}
    dated = [row for row in kept if row["trigger_time"] is not None]
    notified_at: dict[Any, list[Row]] = defaultdict(list)
    for row in dated:
        notified_at[_key(row)].append(row)
        if row["retracted"]:
            back[_fact(row)] = max(row["commit_seq"], back.get(_fact(row), 0))
    for row in dated:
        is_void = None not in (fact := _fact(row)) and row["commit_seq"] < back.get(fact, 0)
        row |= {"counts": not is_void, "is_there": not row["retracted"]}
    for newest_row in newest_by(
        dated, _KEY, ("counts", "is_there", "final", "observed_at", "commit_seq")
    ):
        versions = notified_at[_key(newest_row)]
        yield {**newest_row, "as_of": largest(*(row["observed_at"] for row in versions))}


def _periods(row: Row) -> list[Period]:
    return [
        (name, row["trigger_time"] // length * length)
        for name, length in LENGTHS_MS.items()
        if row["trigger_time"] is not None
    ]


def _sum_up(rows: Sequence[Row]) -> dict[str, Any]:
    # Durations and sizes exclude savepoints: these have another format and schedule.
    counted = [row for row in rows if row["outcome"] == "completed" and not row["is_savepoint"]]
    refusals = sum(row["outcome"] == REFUSED for row in rows)
    return {
        **{
            f"{outcome}_count": sum(row["outcome"] == outcome for row in rows)
            for outcome in OUTCOMES
        },
        "savepoint_count": sum(bool(row["is_savepoint"]) for row in rows),
        "preflight_refusals": refusals or None,
        "end_to_end_p95_ms": percentile((row["end_to_end_ms"] for row in counted), 0.95),
        "state_bytes_last": _last_size(counted),
        # Of every outcome: failed checkpoints also used the network.
        "checkpointed_bytes_sum": _sum(
            row["checkpointed_bytes"] for row in rows if row["checkpointed_bytes"] is not None
        ),
        "as_of": largest(*(row["as_of"] for row in rows)),
    }


def _last_size(counted: Iterable[Row]) -> int | None:
    sized = [row for row in counted if row["state_bytes"] is not None]
    if not sized:
        return None

    def in_order(row: Row) -> Any:
        return row["trigger_time"], rank(row["checkpoint_id"]), row["state_bytes"]

    last: int = max(sized, key=in_order)["state_bytes"]
    return last


def _sum(values: Iterable[int]) -> int | None:
    known = list(values)
    return total if known and abs(total := sum(known)) < 2**63 else None
