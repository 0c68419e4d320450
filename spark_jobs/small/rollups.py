"""Checkpoints of one job summed up over hours and days, over plain rows; what :mod:`spark_jobs.transforms.rollups` gives, where the
rules stand."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pyarrow as pa

from ingest.lake.derived import CHECKPOINT_FACTS, REFUSED
from spark_jobs.serving import CHECKPOINT_FACT, OUTCOMES, PHASES, SLOPE_SPAN_H
from spark_jobs.small.rows import Row, SmallLake
from spark_jobs.spans import floor, merged

LENGTHS = {"hour": timedelta(hours=1), "day": timedelta(days=1)}
PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}

TABLE = CHECKPOINT_FACTS.name
_KEY = CHECKPOINT_FACTS.identity
_FACT = CHECKPOINT_FACT.key
_FIGURES = tuple(column.name for column in CHECKPOINT_FACTS.columns if column.name not in (*_KEY, "retracted"))
_NONE: tuple[bool, Any] = (False, 0)

Period = tuple[str, str, str, datetime]
"""Cluster, job, hour or day, and its start."""


def rolled_up(lake: SmallLake, after_seq: int) -> list[Row]:
    """``checkpoint_rollup`` rows of the hours and days that facts kept after commit ``after_seq`` touch."""
    new = _rows(lake.new_rows(TABLE, {TABLE: after_seq}))
    day = LENGTHS["day"]
    days = merged((start, start + day) for start in {floor(row["trigger_time"], day) for row in new})
    touched = {period for row in new for period in _periods(row)}
    of_periods: dict[Period, list[Row]] = defaultdict(list)
    for row in newest(_rows(lake.rows_in(TABLE, days))):
        for period in _periods(row):
            if period in touched:
                of_periods[period].append(row)
    summed = (_named(period) | _summed(period, rows) for period, rows in of_periods.items())
    return [row for row in summed if row["as_of"] is not None]


def _named(period: Period) -> Row:
    return dict(zip(("cluster", "job_id", "period", "period_start"), period, strict=True))


def newest(kept: Iterable[Row]) -> list[Row]:
    """Each key once: what was there before a key was taken back is void; else a settled one counts before an open one, then the newest."""
    kept = list(kept)
    back: dict[Any, int] = {}
    for row in kept:
        if row["retracted"] and None not in (fact := _values(row, _FACT)):
            back[fact] = max(row["commit_seq"], back.get(fact, 0))
    reported: dict[Any, list[Row]] = defaultdict(list)
    for row in kept:
        reported[_values(row, _KEY)].append(row)

    def order(row: Row) -> Any:
        is_void = row["commit_seq"] < back.get(_values(row, _FACT), 0)
        figures = tuple(_nulls_first(row[name]) for name in _FIGURES)
        return not is_void, not row["retracted"], _nulls_first(row["final"]), _nulls_first(row["observed_at"]), row["commit_seq"], figures

    found = []
    for key, rows in reported.items():
        best = max(rows, key=order)
        figures = {name: best[name] for name in _FIGURES}
        found.append(dict(zip(_KEY, key, strict=True)) | figures | {"as_of": _latest(rows, "observed_at")})
    return found


def _rows(rows: pa.Table) -> list[Row]:
    found: list[Row] = rows.to_pylist()
    return [row for row in found if row["trigger_time"] is not None]


def _latest(rows: Iterable[Row], name: str) -> datetime | None:
    """What was taken back tells no time of its own."""
    return max((row[name] for row in rows if row[name] is not None), default=None)


def _values(row: Row, names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def _nulls_first(value: Any) -> tuple[bool, Any]:
    return _NONE if value is None else (True, value)


def _periods(row: Row) -> list[Period]:
    return [(row["cluster"], row["job_id"], name, floor(row["trigger_time"], length)) for name, length in LENGTHS.items()]


def _summed(period: Period, rows: Sequence[Row]) -> Row:
    # Savepoints are left out of durations and sizes: they are of another format and on another schedule.
    counted = [row for row in rows if row["outcome"] == "completed" and not row["is_savepoint"]]
    refusals = sum(row["outcome"] == REFUSED for row in rows)
    return {
        **{f"{outcome}_count": sum(row["outcome"] == outcome for row in rows) for outcome in OUTCOMES},
        "savepoint_count": sum(bool(row["is_savepoint"]) for row in rows),
        "preflight_refusals": refusals or None,
        **{f"end_to_end_{name}_ms": _percentile(counted, "end_to_end_ms", share) for name, share in PERCENTILES.items()},
        **{f"{phase}_p95_ms": _percentile(counted, f"{phase}_ms", 0.95) for phase in PHASES},
        **_sizes(period[3], counted),
        # Of every outcome: what a failed checkpoint has sent went over the network too.
        "checkpointed_bytes_sum": _sum(row["checkpointed_bytes"] for row in rows if row["checkpointed_bytes"] is not None),
        "as_of": _latest(rows, "as_of"),
    }  # fmt: skip


def _sizes(start: datetime, counted: Iterable[Row]) -> Row:
    sized = [row for row in counted if row["state_bytes"] is not None]
    if not sized:
        return {"state_bytes_first": None, "state_bytes_last": None, "state_bytes_max": None, "state_bytes_per_h": None}

    def in_order(row: Row) -> Any:
        return row["trigger_time"], _nulls_first(row["checkpoint_id"]), row["state_bytes"]

    # A release that reports one size only may mean the uploaded one; a slope of that would say nothing about the state.
    full = [row for row in sized if row["checkpointed_bytes"] is not None]
    hours = [(row["trigger_time"] - start) / LENGTHS["hour"] for row in full]
    return {
        "state_bytes_first": min(sized, key=in_order)["state_bytes"],
        "state_bytes_last": max(sized, key=in_order)["state_bytes"],
        "state_bytes_max": max(row["state_bytes"] for row in sized),
        "state_bytes_per_h": _slope(hours, [row["state_bytes"] for row in full]),
    }


def _slope(x: Sequence[float], y: Sequence[int]) -> float | None:
    """By least squares, rounded: sums of floats depend on the order of rows in their last digits."""
    if len(x) < 2 or max(x) - min(x) < SLOPE_SPAN_H:
        return None
    middle_x, middle_y = math.fsum(x) / len(x), math.fsum(y) / len(y)
    spread = math.fsum((one - middle_x) ** 2 for one in x)
    if not spread:
        return None
    slope = math.fsum((one - middle_x) * (other - middle_y) for one, other in zip(x, y, strict=True)) / spread
    return float(Decimal(repr(slope)).quantize(Decimal("0.1"), ROUND_HALF_UP))


def _percentile(rows: Iterable[Row], name: str, share: float) -> float | None:
    """Exact, between neighbours in proportion."""
    ascending = sorted(row[name] for row in rows if row[name] is not None)
    if not ascending:
        return None
    at = (len(ascending) - 1) * share
    low, high = math.floor(at), math.ceil(at)
    if low == high or ascending[low] == ascending[high]:
        return float(ascending[low])
    return float((high - at) * ascending[low] + (at - low) * ascending[high])


def _sum(values: Iterable[int]) -> int | None:
    """None for no values, and where the sum is beyond a column's range."""
    known = list(values)
    return total if known and abs(total := sum(known)) < 2**63 else None
