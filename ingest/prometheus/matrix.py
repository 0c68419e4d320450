"""Answers of Prometheus' ``query_range``: series of samples → values by what a series is of, column
and instant.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ingest.errors import Skipped
from ingest.flink_rest.payloads.fields import LAST_INSTANT_MS
from ingest.messages import message

LAST_INSTANT_S = LAST_INSTANT_MS // 1000
Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Series:
    """``samples`` are (epoch s, value), in order of time; what is no finite number is left out."""

    labels: Labels
    samples: tuple[tuple[float, float], ...]


def series(body: Any) -> Iterator[Series]:
    """Raises :class:`Skipped` where the answer is no matrix; a series of odd form is passed over."""
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
