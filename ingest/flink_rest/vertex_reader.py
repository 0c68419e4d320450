import asyncio
from collections.abc import Mapping
from itertools import chain
from typing import Any
from urllib.parse import quote

from ingest.errors import Skipped
from ingest.flink_rest.answers import Answer, JobAnswers
from ingest.flink_rest.assembly import ParseResults, attempts_checksum, plan_answer
from ingest.flink_rest.cursor import JobCursor
from ingest.flink_rest.limits import Budget, RequestLimits
from ingest.flink_rest.metric_names import (
    names_for,
    packed_paths,
    select_subtasks,
    source_column,
    subtask_paths,
    subtasks_per_request,
)
from ingest.flink_rest.payloads import plan
from ingest.flink_rest.payloads.event_time import feeders, is_of_event_time, names_to_ask
from ingest.flink_rest.payloads.gauges import listed_names, names_to_request
from ingest.flink_rest.session import RestSession
from ingest.flink_rest.versions import has_time_metrics
from ingest.json_members import object_list

LISTED = "listed"
MOST_OF_SOURCES = 12
TIMES_LISTED, TIMES_LISTED_LEAN = 3, 1
"""How often names are listed after the job changed: operators register metrics late."""


def _needed_metrics(metric_names: list[str]) -> list[str]:
    source_names = [name for name in metric_names if source_column(name)]
    return [*names_to_request(metric_names), *source_names[:MOST_OF_SOURCES]]


def _graph(reading: JobAnswers) -> tuple[Mapping[str, str], Mapping[str, tuple[str, ...]]]:
    results = ParseResults()
    vertices = results.parse(plan.vertices, reading.job) or ()
    return {vertex.vertex_id: vertex.name for vertex in vertices}, feeders(
        results.parse(plan.edges, plan_answer(reading)) or ()
    )


LARGE_VERTEX = 500
"""With more subtasks, placement (600 bytes a subtask) is read only after the job changed."""


class VertexReader:
    def __init__(
        self,
        session: RestSession,
        limits: RequestLimits,
        budget: Budget,
        reading: JobAnswers,
        cursor: JobCursor,
        *,
        lean: bool,
    ) -> None:
        self._session, self._limits, self._budget = session, limits, budget
        self._reading, self._cursor, self._lean = reading, cursor, lean
        self._names = names_for(reading.flink_version)
        address = session.client.address
        self._prefix_bytes = len(address.base) - len(address.origin)
        self._paths = {
            vertex_id: f"/jobs/{reading.job_id}/vertices/{vertex_id}"
            for vertex_id in cursor.vertices
        }

    async def read(self, *, with_placement: bool) -> None:
        reading, cursor = self._reading, self._cursor
        if with_placement:
            await self._read_placement()
        if not reading.measured_elsewhere:
            await self._read_backpressure()
            await self._read_metrics()
        await self.read_gauges()
        if reading.measured_elsewhere:
            return
        unmeasured_paths = [
            f"{path}/backpressure"
            for vertex_id, path in self._paths.items()
            if vertex_id not in reading.backpressure
        ]
        cursor.not_measured_at = self._session.skip_lasting(
            unmeasured_paths, cursor.not_measured_at
        )

    async def _read_placement(self) -> None:
        reading, cursor = self._reading, self._cursor
        due = {
            vertex_id: path
            for vertex_id, path in self._paths.items()
            if cursor.vertices[vertex_id] <= LARGE_VERTEX or "placed" not in cursor.reported
        }
        if "placed" not in cursor.reported:
            cursor.reported.append("placed")
        reading.vertices.update(await self._gather(due))
        checksum = attempts_checksum(reading) if len(reading.vertices) == len(self._paths) else None
        reading.starts_known = checksum in (None, cursor.started)
        cursor.started = cursor.started if checksum is None else checksum

    async def _read_backpressure(self) -> None:
        """Back-pressure is the only figure before 1.13, and the only one of all subtasks of a large
        vertex in one answer.
        """
        backpressure_paths = {
            vertex_id: f"{path}/backpressure"
            for vertex_id, path in self._paths.items()
            if not self._lean
            or not has_time_metrics(self._reading.flink_version)
            or self._cursor.vertices[vertex_id] > self._max_subtasks(vertex_id)
        }
        self._reading.backpressure.update(await self._gather(backpressure_paths))

    async def _read_metrics(self) -> None:
        reading, cursor = self._reading, self._cursor
        due: list[tuple[str, str]] = []
        for vertex_id, path in self._paths.items():
            parallelism, at_most = cursor.vertices[vertex_id], self._max_subtasks(vertex_id)
            if parallelism > at_most and f"part:{vertex_id[:8]}" not in cursor.reported:
                cursor.reported.append(f"part:{vertex_id[:8]}")
                self._session.skip(
                    f"{path}/metrics",
                    "sampled",
                    f"{at_most} of {parallelism} subtasks are asked for buffer metrics in each "
                    "sample, the hottest and a rotating share; the others are unknown in it. "
                    "Back-pressure is read for all.",
                )
            subtasks = select_subtasks(
                parallelism, at_most, _hottest(reading.backpressure.get(vertex_id)), cursor.turn
            )
            vertex_paths = subtask_paths(
                path, subtasks, self._metric_ids(vertex_id), self._prefix_bytes
            )
            if self._budget.take(len(vertex_paths)):
                due += [(vertex_id, metrics_path) for metrics_path in vertex_paths]
        answers = await asyncio.gather(
            *(self._session.get(path, may_be_gone=True) for _, path in due)
        )
        for (vertex_id, _), answer in zip(due, answers, strict=True):
            if answer is not None:
                reading.metrics.setdefault(vertex_id, []).append(answer)

    async def read_gauges(self) -> None:
        """If task metrics come from elsewhere, only event time is requested."""
        reading, cursor = self._reading, self._cursor
        paths = {vertex: f"{path}/subtasks/metrics" for vertex, path in self._paths.items()}
        if cursor.reported.count(LISTED) < (TIMES_LISTED_LEAN if self._lean else TIMES_LISTED):
            cursor.reported.append(LISTED)
            vertex_names, feeders_of = _graph(reading)
            linked = {*feeders_of, *chain.from_iterable(feeders_of.values())}
            for vertex_id, path in paths.items():
                if reading.measured_elsewhere and vertex_id not in linked:
                    continue
                metric_names = await self._metric_names(path)
                if metric_names is None:
                    continue
                if vertex_names:
                    name = vertex_names.get(vertex_id, "")
                    time_names = names_to_ask(vertex_id, name, metric_names, feeders_of)
                else:
                    previous_names = cursor.gauges.get(vertex_id, ())
                    time_names = [name for name in previous_names if is_of_event_time(name)]
                needed = () if reading.measured_elsewhere else _needed_metrics(metric_names)
                cursor.gauges[vertex_id] = [*time_names, *needed]
        cursor.gauges = {
            vertex_id: names
            for vertex_id, names in cursor.gauges.items()
            if names and vertex_id in paths
        }
        for vertex_id, metric_names in cursor.gauges.items():
            of_vertex = [name for name in metric_names if not source_column(name)]
            head = f"{paths[vertex_id]}?agg=min,max,sum&get="
            for path in packed_paths(head, map(quote, of_vertex), self._prefix_bytes):
                if (answer := await self._get(path)) is not None:
                    reading.gauges.setdefault(vertex_id, []).append(answer)

    async def _metric_names(self, path: str) -> list[str] | None:
        if (answer := await self._get(path)) is None:
            return None
        try:
            return listed_names(answer.body)
        except Skipped as error:
            self._session.skip(path, "bad_payload", str(error))
            return None

    async def _get(self, path: str) -> Answer | None:
        return await self._session.get(path, may_be_gone=True) if self._budget.take() else None

    async def _gather(self, paths: dict[str, str]) -> dict[str, Answer]:
        affordable = {vertex_id: path for vertex_id, path in paths.items() if self._budget.take()}
        answers = await asyncio.gather(
            *(self._session.get(path, may_be_gone=True) for path in affordable.values())
        )
        return {
            vertex_id: answer
            for vertex_id, answer in zip(affordable, answers, strict=True)
            if answer is not None
        }

    def _metric_ids(self, vertex_id: str) -> tuple[str, ...]:
        names = self._cursor.gauges.get(vertex_id, ())
        return (*self._names, *(quote(name) for name in names if source_column(name)))

    def _max_subtasks(self, vertex_id: str) -> int:
        vertices = self._cursor.vertices
        fair_share = self._limits.requests_per_job // (2 * max(1, len(vertices)))
        requests = max(1, min(self._limits.requests_per_vertex, fair_share))
        path_bytes = self._prefix_bytes + len(self._paths[vertex_id]) + len("/metrics?get=")
        return requests * subtasks_per_request(
            self._metric_ids(vertex_id), vertices[vertex_id], path_bytes
        )


def _hottest(backpressure: Answer | None) -> list[int]:
    def heat(subtask: dict[str, Any]) -> float:
        ratios = (subtask.get("ratio"), subtask.get("busyRatio"))
        return max(
            (ratio for ratio in ratios if isinstance(ratio, int | float) and ratio == ratio),
            default=0.0,
        )

    subtasks = object_list(backpressure.body, "subtasks") if backpressure else []
    indexed = [subtask for subtask in subtasks if isinstance(subtask.get("subtask"), int)]
    return list(
        dict.fromkeys(subtask["subtask"] for subtask in sorted(indexed, key=heat, reverse=True))
    )
