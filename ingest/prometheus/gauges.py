import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache

from ingest.flink_ids import is_flink_id
from ingest.flink_rest.payloads.gauges import COMMITTED, GAUGES, READ, add_to, is_known, uncommitted
from ingest.prometheus.names import TASK, number_in, reporter_name, selector
from ingest.prometheus.rows import Series
from ingest.records import VertexGauges

_BY_NAME = {end: (column, aggregate) for column, (end, aggregate) in GAUGES.items()} | {
    f"KafkaSourceReader.topic.partition.{offset}": (offset, "max") for offset in (READ, COMMITTED)
}
_BY_ENDING = {reporter_name("", end).lower(): entry for end, entry in _BY_NAME.items()}
Metric = tuple[str, tuple[str, ...]]
"""Name; topic and partition."""
_INPUT = re.compile(r"\binput_[0-9]+_")


def _pattern(*aggregates: str) -> str:
    ends = (reporter_name("", end) for end, (_, how) in _BY_NAME.items() if how in aggregates)
    return f"{TASK}(.*_)?({'|'.join(end.replace('Input_0_', 'Input_[0-9]+_') for end in ends)})"


GAUGE_NAMES = _pattern("min", "max", "sum")
_NAME = re.compile(GAUGE_NAMES, re.IGNORECASE | re.ASCII)
_PARTITION = ("topic", "partition")
_GROUP_LABELS = ", ".join(("__name__", "task_id", *_PARTITION))


@lru_cache(maxsize=10_000)
def parse_gauge_name(name: str) -> tuple[str, str] | None:
    match = _NAME.fullmatch(name)
    return _BY_ENDING[_INPUT.sub("input_0_", match[2].lower())] if match else None


def gauges_query(scope: str, job_id: str) -> str:
    parts = (
        f"{aggregate} by ({_GROUP_LABELS}) ({selector([_pattern(aggregate)], scope, job_id)})"
        for aggregate in ("min", "max", "sum")
    )
    return f" or on ({_GROUP_LABELS}) ".join(parts)


def gauge_rows(
    job_id: str, all_series: Iterable[Series]
) -> Iterator[tuple[datetime, VertexGauges]]:
    """One row for each vertex and instant, from the newest attempt of each subtask."""
    # (vertex, at) → subtask → attempt → (name and partition, value)
    by_vertex: dict[tuple[str, float], dict[int, dict[int, list[tuple[Metric, float]]]]] = {}
    for series in all_series:
        name, vertex = series.labels.get("__name__", ""), series.labels.get("task_id", "")
        if parse_gauge_name(name) and is_flink_id(vertex):
            subtask = number_in(series.labels.get("subtask_index"))
            attempt = number_in(series.labels.get("task_attempt_num"))
            metric = name, tuple(series.labels.get(label, "") for label in _PARTITION)
            for at, value in series.samples:
                attempts = by_vertex.setdefault((vertex, at), {}).setdefault(subtask or 0, {})
                attempts.setdefault(attempt or 0, []).append((metric, value))
    for (vertex, at_s), subtasks in sorted(
        by_vertex.items(), key=lambda item: (item[0][1], item[0][0])
    ):
        if figures := _figures(
            [pair for attempts in subtasks.values() for pair in attempts[max(attempts)]]
        ):
            sampled_at = datetime.fromtimestamp(at_s, UTC)
            yield sampled_at, VertexGauges(job_id, vertex, sampled_at, **figures)


def _figures(values: Iterable[tuple[Metric, float]]) -> dict[str, int]:
    by_metric: dict[Metric, float] = {}
    for metric, value in values:
        _, aggregate = parse_gauge_name(metric[0]) or ("", "")
        by_metric[metric] = add_to(aggregate, by_metric.get(metric), value)
    figures: dict[str, float] = {}
    offsets: dict[tuple[str, str], float] = {}
    for (name, partition), value in by_metric.items():
        column, aggregate = parse_gauge_name(name) or ("", "")
        if column in (READ, COMMITTED):
            offsets["/".join(partition), column] = value
        elif is_known(column, value):
            figures[column] = add_to(aggregate, figures.get(column), value)
    figures |= uncommitted(offsets)
    return {column: round(value) for column, value in figures.items() if is_known(column, value)}
