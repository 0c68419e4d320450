"""Samples → pressure windows, in whole columns: ten times faster than Spark's own columns
(measured). Unknown is NaN here.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ingest.flink_rest.metric_names import SOURCE_METRICS
from ingest.job_states import TERMINAL_STATES
from spark_jobs.diagnosis.samples import VertexWindow
from spark_jobs.diagnosis.window_contents import WINDOW_MS
from spark_jobs.transforms.counter_arrays import COUNTERS, counters
from spark_jobs.transforms.sample_cells import (
    KEY,
    ORDER,
    Cells,
    Flags,
    Ints,
    Reals,
    begins,
    instants,
    ms_of,
    newest_places,
    reals,
    wholes,
)

MOST_OF_WINDOW = 0.5
FULL_MS_PER_S = 1000.0

SPREAD = {
    "in_pool": "in_pool_usage",
    "out_pool": "out_pool_usage",
    "busy_ms_per_s": "busy_ms_per_s",
    "backpressured_ms_per_s": "backpressured_ms_per_s",
    "idle_ms_per_s": "idle_ms_per_s",
}
"""Serving prefix → lake column; served as p50, max and mean over subtasks."""
MEASURES = (
    *SPREAD.values(),
    "floating_usage",
    "backpressured_ratio",
    "records_in_per_s",
    "records_out_per_s",
)
TIME_METRICS = ("busy_ms_per_s", "backpressured_ms_per_s", "idle_ms_per_s")
PLACE = ("host", "taskmanager_id")
OF_SOURCE = tuple(SOURCE_METRICS)
"""Of these metrics, the newest value of each subtask counts, not the mean."""
PER_SUBTASK = (*MEASURES, *OF_SOURCE, "watermark_ms", "task_state", *PLACE, *COUNTERS)
WHOLE = ("parallelism", "samples")
ARRAYS = tuple(
    field.name
    for field in fields(VertexWindow)
    if field.default == () and not field.name.startswith("counted_")
)
READ = (*ORDER, "parallelism", "counted_at", *PER_SUBTASK)


def windows(samples: pa.RecordBatch) -> pa.RecordBatch:
    """``samples``: all samples of the windows, sorted by ``ORDER``."""
    unique = samples.take(pa.array(newest_places(samples)))
    cells = Cells.of(unique, PER_SUBTASK)
    rows = cells.first_of_window
    means = _means(cells) | {name: _newest(cells, name) for name in OF_SOURCE}
    backpressured_ratio = _known_first(
        means["backpressured_ms_per_s"] / FULL_MS_PER_S, means["backpressured_ratio"]
    )
    watermark, has_watermark = _newest_watermarks(cells)
    columns: dict[str, pa.Array] = {name: unique[name].take(pa.array(rows)) for name in KEY}
    columns |= {
        "window_start": instants(ms_of(unique, "ts")[rows] // WINDOW_MS * WINDOW_MS),
        "window_s": pa.array(np.full(len(rows), WINDOW_MS // 1000)),
        "parallelism": _parallelism(unique, cells),
        "samples": pa.array(np.diff(np.append(rows, unique.num_rows))),
        **_over_subtasks(cells, means, backpressured_ratio),
        "watermark_ms": _lowest(cells, watermark, has_watermark),
        "as_of": instants(np.maximum.reduceat(ms_of(unique, "observed_at"), rows)),
        "newest_ts": instants(np.maximum.reduceat(ms_of(unique, "ts"), rows)),
    }
    ratios = {
        "busy_ratio": means["busy_ms_per_s"] / FULL_MS_PER_S,
        "backpressured_ratio": backpressured_ratio,
        "idle_ratio": means["idle_ms_per_s"] / FULL_MS_PER_S,
    }
    of_slots = {
        **{name: reals(values) for name, values in {**means, **ratios}.items()},
        "watermark_ms": pa.array(watermark, mask=~has_watermark),
        **_newest_places_of_tasks(cells),
    }
    columns["counters"] = counters(cells)
    columns["readings"] = _readings(columns, of_slots, cells)
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _readings(
    columns: Mapping[str, pa.Array], of_slots: Mapping[str, pa.Array], cells: "Cells"
) -> pa.StructArray:
    ends = pa.array(np.append(cells.first_slot, cells.slots).astype(np.int32))
    fields = {name: columns[name] for name in ("vertex_id", *WHOLE)}
    fields |= {name: pa.ListArray.from_arrays(ends, of_slots[name]) for name in ARRAYS}
    return pa.StructArray.from_arrays(list(fields.values()), names=list(fields))


def _means(cells: Cells) -> dict[str, Reals]:
    running = cells.running()
    by_name = {name: cells.reals(name) for name in MEASURES}
    by_name["busy_ms_per_s"] = _busy_or_unknown(by_name)
    for name in TIME_METRICS:
        # Flink sometimes measures these over a little more than a second.
        by_name[name] = np.minimum(by_name[name], FULL_MS_PER_S)
    means = {}
    for name, values in by_name.items():
        is_known = running & ~np.isnan(values)
        count = np.bincount(cells.slot[is_known], minlength=cells.slots)
        total = np.bincount(cells.slot[is_known], weights=values[is_known], minlength=cells.slots)
        means[name] = _divide(total, count)
    return means


def _busy_or_unknown(by_name: Mapping[str, Reals]) -> Reals:
    """A full second of busy time counts only if the task has data. Flink counts time neither idle
    nor back-pressured as busy, so a task that has not begun is fully busy. Metrics are fetched
    every ten seconds, so that value outlives INITIALIZING (seen for 5 s in 1.20).
    """
    busy = by_name["busy_ms_per_s"]
    works = (
        (by_name["records_in_per_s"] > 0)
        | (by_name["records_out_per_s"] > 0)
        | (by_name["in_pool_usage"] > 0)
    )
    return np.where((busy < FULL_MS_PER_S) | works, busy, np.nan)


def _newest_watermarks(cells: Cells) -> tuple[Ints, Flags]:
    values, at = cells.values("watermark_ms")
    is_known = cells.running()[at] & np.asarray(pc.is_valid(values))
    slots = cells.slot[at[is_known]]
    watermarks, has_watermark = np.zeros(cells.slots, np.int64), np.zeros(cells.slots, bool)
    watermarks[slots] = np.asarray(pc.fill_null(values, 0))[is_known]
    has_watermark[slots] = True
    return watermarks, has_watermark


def _newest(cells: Cells, name: str) -> Reals:
    values = cells.reals(name)
    is_known = cells.running() & ~np.isnan(values)
    newest = np.full(cells.slots, np.nan)
    newest[cells.slot[is_known]] = values[is_known]
    return newest


def _newest_places_of_tasks(cells: Cells) -> dict[str, pa.Array]:
    """Host and TaskManager of each task by the last sample that has any. An ended task has none,
    though Flink still reports where it ran.
    """
    states, names = cells.texts("task_state")
    has_ended = np.isin(
        states, [at for at, name in enumerate(names.to_pylist()) if name in TERMINAL_STATES]
    )
    reported = {name: cells.texts(name) for name in PLACE}
    known = np.flatnonzero(np.any([places >= 0 for places, _ in reported.values()], axis=0))
    newest = np.full(cells.slots, -1)
    newest[cells.slot[known]] = np.where(has_ended[known], -1, known)
    tasks = {}
    for name, (places, texts) in reported.items():
        of_slot = np.where(newest >= 0, places[newest] if len(places) else -1, -1)
        tasks[name] = texts.take(pa.array(of_slot, mask=of_slot < 0))
    return tasks


def _over_subtasks(
    cells: Cells, means: Mapping[str, Reals], backpressured_ratio: Reals
) -> dict[str, pa.Array]:
    arrays: dict[str, Reals] = {}
    for subtasks in np.unique(cells.subtasks):
        at = np.flatnonzero(cells.subtasks == subtasks)
        slots = cells.first_slot[at][:, np.newaxis] + np.arange(subtasks)
        slot_means = {name: values[slots] for name, values in means.items()}
        figures = _figures(slot_means, backpressured_ratio[slots])
        for name, values in figures.items():
            arrays.setdefault(name, np.full(len(cells.subtasks), np.nan))[at] = values
    return {
        name: wholes(values) if name.endswith(("_subtask", "_subtasks")) else reals(values)
        for name, values in arrays.items()
    }


def _figures(means: Mapping[str, Reals], backpressured_ratio: Reals) -> dict[str, Reals]:
    figures: dict[str, Reals] = {}
    for prefix, name in SPREAD.items():
        ascending = np.sort(means[name], axis=1)
        figures |= {f"{prefix}_p50": _median(ascending), f"{prefix}_max": _largest(ascending)}
        figures[f"{prefix}_mean"] = _divide(np.nansum(ascending, axis=1), _count(ascending))
    rates = np.sort(means["records_in_per_s"], axis=1)
    return figures | {
        "backpressured_share": _share(backpressured_ratio, MOST_OF_WINDOW),
        "busy_share": _share(means["busy_ms_per_s"] / FULL_MS_PER_S, MOST_OF_WINDOW),
        "records_in_per_s": _sum(rates),
        "records_out_per_s": _sum(means["records_out_per_s"]),
        "records_in_max_over_median": _divide(_largest(rates), _median(rates)),
        **_source_columns(means),
    }


def _source_columns(means: Mapping[str, Reals]) -> dict[str, Reals]:
    pending = means["pending_records"]
    largest = {name: _largest(np.sort(means[name], axis=1)) for name in OF_SOURCE}
    reporting = _count(pending)
    return largest | {
        "pending_records": _sum(pending),
        "pending_records_max": largest["pending_records"],
        "pending_subtasks": np.where(reporting > 0, reporting, np.nan),
        "most_pending_subtask": _known_first(
            _place_of_largest(pending), _place_of_largest(means["emit_lag_ms"])
        ),
    }


def _count(values: Reals) -> Ints:
    known: Ints = np.count_nonzero(~np.isnan(values), axis=1)
    return known


def _sum(values: Reals) -> Reals:
    return np.where(_count(values) > 0, np.nansum(values, axis=1), np.nan)


def _at(ascending: Reals, places: Ints) -> Reals:
    if not ascending.shape[1]:
        return np.full(len(ascending), np.nan)
    return ascending[np.arange(len(ascending)), np.maximum(places, 0)]


def _largest(ascending: Reals) -> Reals:
    return _at(ascending, _count(ascending) - 1)


def _median(ascending: Reals) -> Reals:
    last = _count(ascending) - 1
    low, high = _at(ascending, last // 2), _at(ascending, (last + 1) // 2)
    return np.where(low == high, low, low * 0.5 + high * 0.5)


def _share(values: Reals, above: float) -> Reals:
    return _divide(np.count_nonzero(values > above, axis=1), _count(values))


def _place_of_largest(values: Reals) -> Reals:
    if not values.shape[1]:
        return np.full(len(values), np.nan)
    working = np.where(values > 0, values, 0.0)
    return np.where(working.any(axis=1), working.argmax(axis=1), np.nan)


def _known_first(values: Reals, otherwise: Reals) -> Reals:
    return np.where(np.isnan(values), otherwise, values)


def _divide(values: npt.NDArray[Any], by: npt.NDArray[Any]) -> Reals:
    quotients: Reals = np.divide(values, by, out=np.full(np.shape(values), np.nan), where=by != 0)
    return quotients


def _parallelism(samples: pa.RecordBatch, cells: Cells) -> pa.Array:
    counts = cells.subtasks.astype(np.int64)
    of_window = np.cumsum(begins(samples)) - 1
    reported = samples["parallelism"]
    is_known = np.asarray(pc.is_valid(reported))
    counts[of_window[is_known]] = np.asarray(pc.fill_null(reported, 0))[is_known]
    return pa.array(counts)


def _lowest(cells: Cells, watermark: Ints, is_known: Flags) -> pa.Array:
    unknown = np.iinfo(np.int64).max
    lowest = np.full(len(cells.subtasks), unknown)
    is_any = np.zeros(len(cells.subtasks), bool)
    of_slot = np.repeat(np.arange(len(cells.subtasks)), cells.subtasks)
    np.minimum.at(lowest, of_slot[is_known], watermark[is_known])
    is_any[of_slot[is_known]] = True
    return pa.array(lowest, mask=~is_any)
