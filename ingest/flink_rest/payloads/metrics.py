"""``[{"id": …, "value": "…"}]`` → columns of Weir. Values are texts."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from ingest.errors import Skipped
from ingest.flink_rest.metric_names import Names, source_column
from ingest.flink_rest.payloads.fields import Fields, elements, real, signed
from ingest.flink_rest.payloads.vertices import MAX_PARALLELISM

Number = float | int
_SUBTASK_IN_ID = re.compile(r"(\d{1,5})\.(.+)", re.DOTALL)
_SUBTASK_IN_PATH = re.compile(r"/subtasks/(\d{1,5})/metrics$")


def values(body: Any) -> dict[str, Any]:
    values_by_name = {}
    for place, item in elements(body):
        # These are by far the longest lists: only unusual entries take the slow path.
        if not isinstance(item, dict) or not isinstance(item.get("id"), str):
            Fields(item, place).required_text("id")
        elif item.get("value") is not None:
            values_by_name[item["id"]] = item["value"]
    return values_by_name


def values_by_subtask(body: Any, endpoint: str) -> dict[int, dict[str, Any]]:
    """``/vertices/:vid/subtasks/:i/metrics`` has the subtask in its path,
    ``/vertices/:vid/metrics`` in the prefix of each id.
    """
    in_path = _SUBTASK_IN_PATH.search(endpoint)
    if in_path:
        return {_check_subtask(int(in_path[1])): values(body)}
    by_subtask: dict[int, dict[str, Any]] = {}
    for metric_id, value in values(body).items():
        match = _SUBTASK_IN_ID.fullmatch(metric_id)
        if match:
            by_subtask.setdefault(_check_subtask(int(match[1])), {})[match[2]] = value
    return by_subtask


def pick(
    values_by_name: dict[str, Any],
    spellings: Iterable[str],
    read: Callable[[Any], Number | None] = real,
) -> Number | None:
    """The value of the first spelling that has one; ``None`` if all are absent, NaN or -1."""
    for spelling in spellings:
        try:
            value = read(values_by_name.get(spelling))
        except ValueError:
            raise Skipped(f"{spelling}: expected a number as value") from None
        if value is not None:
            return value
    return None


def columns_by_subtask(
    body: Any, endpoint: str, names: Names
) -> dict[int, dict[str, Number | None]]:
    return {
        subtask: columns(entry, names) | _source_values(entry)
        for subtask, entry in values_by_subtask(body, endpoint).items()
    }


def columns(values_by_name: dict[str, Any], names: Names) -> dict[str, Number | None]:
    return {
        column: pick(values_by_name, spellings, signed if column == "watermark_ms" else real)
        for column, spellings in names.items()
    }


def _source_values(values_by_name: dict[str, Any]) -> dict[str, Number | None]:
    largest: dict[str, Number | None] = {}
    for name in values_by_name:
        value = pick(values_by_name, (name,)) if (column := source_column(name)) else None
        if column and value is not None:
            largest[column] = max(value, largest.get(column) or 0)
    return largest


def _check_subtask(subtask: int) -> int:
    if subtask >= MAX_PARALLELISM:
        raise Skipped(f"subtask {subtask}: expected less than {MAX_PARALLELISM}")
    return subtask
