import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from ingest.errors import Skipped
from ingest.flink_ids import is_flink_id, is_taskmanager_id
from ingest.flink_rest.assembly import by_index
from ingest.flink_rest.metric_names import SOURCE_METRICS
from ingest.flink_rest.payloads.fields import LAST_INSTANT_MS, clean_text, integer, real, signed
from ingest.flink_rest.payloads.vertices import MAX_PARALLELISM
from ingest.messages import message
from ingest.prometheus.names import (
    COUNTERS,
    JOB_NAMES,
    STATES,
    TASK_NAMES,
    TASKMANAGER_NAMES,
    number_in,
)
from ingest.records import Job, TaskManager, Vertex, VertexMetrics

LAST_INSTANT_S = LAST_INSTANT_MS // 1000
Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Series:
    """``samples``: (epoch s, finite value), ordered by time."""

    labels: Labels
    samples: tuple[tuple[float, float], ...]


def series(body: Any) -> Iterator[Series]:
    match body:
        case {"status": "success", "data": {"resultType": "matrix", "result": list(result)}}:
            pass
        case {"status": "error", "error": str(answer)}:
            raise Skipped(
                message("Prometheus refused the query: {answer:name}", answer=answer[:300])
            )
        case _:
            raise Skipped(message("The answer is not a matrix of series."))
    for entry in result:
        match entry:
            case {"metric": dict(labels), "values": list(values)} if all(
                isinstance(value, str) for value in labels.values()
            ):
                yield Series(
                    labels, tuple(sample for value in values if (sample := _sample(value)))
                )


def _sample(value: Any) -> tuple[float, float] | None:
    match value:
        case [int() | float() as at, str(text)]:
            try:
                number = float(text)
            except ValueError:
                return None
            return (
                (float(at), number) if math.isfinite(number) and 0 <= at <= LAST_INSTANT_S else None
            )
    return None


_COLUMNS = frozenset(column for column, _ in TASK_NAMES.values())
_PLACEMENT = {"host": "host", "taskmanager_id": "tm_id"}


class Subtasks:
    def __init__(self, all_series: Iterable[Series]) -> None:
        # (vertex, at) → subtask → attempt → column → (rank, value)
        self._values: dict[
            tuple[str, float], dict[int, dict[int, dict[str, tuple[int, float]]]]
        ] = {}
        self._labels: dict[tuple[str, int, int], Mapping[str, str]] = {}
        self.names: dict[str, str] = {}
        for one_series in all_series:
            self._add_series(one_series)

    def _add_series(self, one_series: Series) -> None:
        column, rank = TASK_NAMES.get(one_series.labels.get("__name__", ""), ("", 0))
        vertex = one_series.labels.get("task_id", "")
        subtask = number_in(one_series.labels.get("subtask_index"))
        attempt = number_in(one_series.labels.get("task_attempt_num"))
        if not column or not is_flink_id(vertex) or subtask is None or subtask >= MAX_PARALLELISM:
            return
        self.names.setdefault(vertex, one_series.labels.get("task_name", ""))
        self._labels[vertex, subtask, attempt or 0] = one_series.labels
        for at, value in one_series.samples:
            columns = (
                self._values.setdefault((vertex, at), {})
                .setdefault(subtask, {})
                .setdefault(attempt or 0, {})
            )
            _keep_best(columns, column, rank, value)

    def parallelism(self) -> dict[str, int]:
        subtasks_by_vertex: dict[str, int] = defaultdict(int)
        for (vertex, _), subtasks in self._values.items():
            subtasks_by_vertex[vertex] = max(subtasks_by_vertex[vertex], max(subtasks) + 1)
        return subtasks_by_vertex

    def rows(
        self, job_id: str, *, with_placement: bool
    ) -> Iterator[tuple[datetime, VertexMetrics]]:
        """One row for each vertex and instant, from the newest attempt of each subtask."""
        parallelism = self.parallelism()
        for (vertex, at_s), subtasks in sorted(
            self._values.items(), key=lambda item: (item[0][1], item[0][0])
        ):
            length = parallelism[vertex]
            newest = {subtask: max(attempts) for subtask, attempts in subtasks.items()}
            values = {subtask: subtasks[subtask][attempt] for subtask, attempt in newest.items()}
            placed = newest if with_placement else {}
            labels = {
                subtask: self._labels[vertex, subtask, attempt]
                for subtask, attempt in placed.items()
            }
            columns: dict[str, Any] = {
                column: by_index(
                    {
                        subtask: _value(column, entry.get(column))
                        for subtask, entry in values.items()
                    },
                    length,
                )
                for column in _COLUMNS
            } | {
                column: by_index(
                    {subtask: entry.get(label) or None for subtask, entry in labels.items()}, length
                )
                for column, label in _PLACEMENT.items()
            }
            at = datetime.fromtimestamp(at_s, UTC)
            has_counts = any(columns[name] is not None for name in COUNTERS)
            yield (
                at,
                VertexMetrics(
                    job_id,
                    vertex,
                    at,
                    parallelism=length,
                    attempt=by_index(placed, length),
                    counted_at=at if has_counts else None,
                    **columns,
                ),
            )


def _by_owner(
    all_series: Iterable[Series],
    columns_by_name: Mapping[str, tuple[str, int]],
    id_label: str,
    is_id: Callable[[str], bool],
    name_label: str,
) -> Iterator[tuple[str, str | None, datetime, dict[str, float]]]:
    """Id, name, instant and columns of each job or TaskManager."""
    values: dict[tuple[str, float], dict[str, tuple[int, float]]] = defaultdict(dict)
    names: dict[str, str] = {}
    for one_series in all_series:
        column, rank = columns_by_name.get(one_series.labels.get("__name__", ""), ("", 0))
        owner = one_series.labels.get(id_label, "")
        if not column or not is_id(owner):
            continue
        names[owner] = one_series.labels.get(name_label, "")
        for at, value in one_series.samples:
            _keep_best(values[owner, at], column, rank, value)
    for (owner, at_s), columns in sorted(values.items(), key=lambda item: item[0][1]):
        numbers = {column: value for column, (_, value) in columns.items()}
        yield owner, clean_text(names[owner]) or None, datetime.fromtimestamp(at_s, UTC), numbers


def jobs(all_series: Iterable[Series]) -> Iterator[tuple[datetime, Job]]:
    """The state of a job is known if the cluster reports times in states (1.15+)."""
    for job_id, name, at, numbers in _by_owner(
        all_series, JOB_NAMES, "job_id", is_flink_id, "job_name"
    ):
        state = next(
            (state for column, state in STATES.items() if numbers.get(column, 0) > 0), None
        )
        counts: dict[str, Any] = {
            column: _int_or_none(value) for column, value in numbers.items() if column not in STATES
        }
        yield at, Job(job_id, name, state, **counts)


def with_vertices(job: Job, subtasks: Subtasks) -> Job:
    parallelism = subtasks.parallelism()
    vertices = tuple(
        Vertex(vertex, clean_text(subtasks.names[vertex]) or vertex, size)
        for vertex, size in sorted(parallelism.items())
    )
    return replace(
        job, vertices=vertices or None, parallelism=max(parallelism.values(), default=None)
    )


def taskmanagers(all_series: Iterable[Series]) -> Iterator[tuple[datetime, TaskManager]]:
    for manager_id, host, at, numbers in _by_owner(
        all_series, TASKMANAGER_NAMES, "tm_id", is_taskmanager_id, "host"
    ):
        columns: dict[str, Any] = {
            column: real(value) if column == "cpu_load" else _int_or_none(value)
            for column, value in numbers.items()
        }
        yield at, TaskManager(manager_id, host, at, **columns)


def _value(column: str, sample: tuple[int, float] | None) -> float | int | None:
    return None if sample is None else _PARSERS.get(column, real)(sample[1])


def _int_or_none(value: float, read: Callable[[Any], int | None] = integer) -> int | None:
    try:
        return read(value)
    except ValueError:
        return None


def _keep_best(columns: dict[str, tuple[int, float]], column: str, rank: int, value: float) -> None:
    best = columns.get(column)
    if (
        best is None
        or rank < best[0]
        or (rank == best[0] and column in SOURCE_METRICS and value > best[1])
    ):
        columns[column] = (rank, value)


_PARSERS: dict[str, Callable[[Any], float | int | None]] = {
    "records_in": _int_or_none,
    "records_out": _int_or_none,
    "watermark_ms": partial(_int_or_none, read=signed),
}
