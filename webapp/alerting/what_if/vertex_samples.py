"""Samples of the lake → what the vertices of one job did in each minute, as the rules read it.
Bounded in samples.

The same means as :mod:`spark_jobs.transforms.pressure_arrays` makes for all jobs: each subtask over
its samples of the window, without start-up values.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from spark_jobs.diagnosis.samples import VertexWindow
from spark_jobs.diagnosis.window_contents import WINDOW_MS
from spark_jobs.fold.record_counters import Earlier, answers, rates
from webapp.alerting.what_if.counted_samples import COUNTED, counters
from webapp.work.lake import lake, read_newest

MOST_SAMPLES = 20_000
MOST_VALUES = 1_500_000
FULL_MS_PER_S = 1000.0

_MEASURES = (
    "in_pool_usage",
    "out_pool_usage",
    "exclusive_usage",
    "floating_usage",
    "busy_ms_per_s",
    "backpressured_ms_per_s",
    "idle_ms_per_s",
    "backpressured_ratio",
    "records_in_per_s",
    "records_out_per_s",
)
_OF_SOURCE = ("pending_records", "emit_lag_ms", "source_idle_ms")
_NEWEST = ("watermark_ms", *_OF_SOURCE, "host", "taskmanager_id")
_COLUMNS = (
    "vertex_id",
    "ts",
    "parallelism",
    "task_state",
    *_MEASURES,
    *_NEWEST,
    "counted_at",
    *COUNTED,
    "source",
)
_SAME_NAME = (
    "in_pool_usage",
    "out_pool_usage",
    "exclusive_usage",
    "floating_usage",
    "records_in_per_s",
    "records_out_per_s",
)

Windows = dict[int, tuple[VertexWindow, ...]]
"""By start in epoch ms."""


def read_vertex_windows(
    cluster: str, job_id: str, parallelism: int | None, start: datetime, end: datetime
) -> tuple[Windows, datetime]:
    """Windows of the newest part of the range, and from when on they are whole; raises what the
    storage raises.
    """
    limit = max(
        500,
        min(MOST_SAMPLES, MOST_VALUES // (len((*_MEASURES, *COUNTED)) * max(parallelism or 1, 1))),
    )
    where: Mapping[str, str | int] = {"cluster": cluster, "job_id": job_id}
    # Which samples there are is cheap to ask; how far back they fit is known before their arrays
    # are read.
    _instants, start = read_newest(
        "vertex_metrics", where, start, end, ("ts",), limit, least=timedelta(minutes=2)
    )
    samples = lake().read(
        "vertex_metrics", where=where, from_time=start, to_time=end, columns=_COLUMNS, limit=limit
    )
    return vertex_windows(samples.to_pylist()), start


def vertex_windows(samples: Iterable[Mapping[str, Any]]) -> Windows:
    grouped: dict[tuple[int, str], dict[datetime, Mapping[str, Any]]] = defaultdict(dict)
    for sample in samples:
        start_ms = int(sample["ts"].timestamp() * 1000) // WINDOW_MS * WINDOW_MS
        # A replayed sample says the same: it counts once.
        grouped[start_ms, sample["vertex_id"]][sample["ts"]] = sample
    in_order = {
        key: [by_instant[at] for at in sorted(by_instant)]
        for key, by_instant in sorted(grouped.items())
    }
    counted = {key: counters(of_window) for key, of_window in in_order.items()}
    earlier = Earlier(
        answers(
            {"vertex_id": key[1], "window_start": key[0], "as_of": key[0], "counters": values}
            for key, values in counted.items()
        )
    )
    windows: dict[int, list[VertexWindow]] = defaultdict(list)
    for (start_ms, vertex_id), of_window in in_order.items():
        windows[start_ms].append(
            _window(vertex_id, of_window, counted[start_ms, vertex_id], earlier)
        )
    return {start_ms: tuple(vertices) for start_ms, vertices in windows.items()}


def _window(
    vertex_id: str, samples: list[Mapping[str, Any]], counted: Mapping[str, Any], earlier: Earlier
) -> VertexWindow:
    """``samples`` in order of time, ``counted`` their record counters."""
    subtasks = max(
        (len(sample[name] or ()) for sample in samples for name in (*_MEASURES, *_NEWEST)),
        default=0,
    )
    readings = [[_reading(sample, subtask) for sample in samples] for subtask in range(subtasks)]
    means = {
        name: tuple(_mean(reading.get(name) for reading in of) for of in readings)
        for name in _MEASURES
    }
    newest = {
        name: tuple(_last(reading.get(name) for reading in of) for of in readings)
        for name in _NEWEST
    }
    held = zip(_ratio(means["backpressured_ms_per_s"]), means["backpressured_ratio"], strict=True)
    measured: dict[str, Any] = {name: _known(means[name]) for name in _SAME_NAME} | {
        name: _known(newest[name]) for name in _NEWEST
    }
    parallelism = _last(sample["parallelism"] for sample in samples)
    return VertexWindow(
        vertex_id,
        parallelism if parallelism is not None else subtasks,
        len(samples),
        busy_ratio=_known(_ratio(means["busy_ms_per_s"])),
        backpressured_ratio=_known(
            tuple(by_time if by_time is not None else by_endpoint for by_time, by_endpoint in held)
        ),
        idle_ratio=_known(_ratio(means["idle_ms_per_s"])),
        **measured,
        **rates({"vertex_id": vertex_id, "counters": counted, **measured}, earlier),
    )


def _reading(sample: Mapping[str, Any], subtask: int) -> dict[str, Any]:
    """What one subtask said; nothing but its place while it is being set up or torn down."""
    measured = {name: _at(sample[name], subtask) for name in (*_MEASURES, *_NEWEST)}
    if (_at(sample["task_state"], subtask) or "RUNNING") != "RUNNING":
        return {name: measured[name] for name in ("host", "taskmanager_id")}
    works = any(
        (measured[name] or 0) > 0
        for name in ("records_in_per_s", "records_out_per_s", "in_pool_usage")
    )
    # Busy is what is neither idle nor blocked, so a task that has not begun shows a full second.
    if (
        measured["busy_ms_per_s"] is not None
        and measured["busy_ms_per_s"] >= FULL_MS_PER_S
        and not works
    ):
        measured["busy_ms_per_s"] = None
    return measured


def _at(values: list[Any] | None, position: int) -> Any:
    return values[position] if values and position < len(values) else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _last(values: Iterable[Any]) -> Any:
    known = [value for value in values if value is not None]
    return known[-1] if known else None


def _ratio(ms_per_s: tuple[float | None, ...]) -> tuple[float | None, ...]:
    return tuple(None if value is None else value / FULL_MS_PER_S for value in ms_per_s)


def _known(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Empty where nobody reported."""
    return values if any(value is not None for value in values) else ()
