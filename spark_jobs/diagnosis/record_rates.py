"""Records per second of each subtask, by Flink's counters, else by its meters."""

from collections.abc import Sequence
from dataclasses import dataclass

from ingest.messages import message
from spark_jobs.diagnosis.samples import Reals, VertexWindow
from spark_jobs.diagnosis.unevenness import REPORTING_SHARE


@dataclass(frozen=True)
class Rates:
    """``counted_ms``: the time between the counters; None for rates of meters."""

    per_s: Reals
    counted_ms: int | None = None

    @property
    def source(self) -> str:
        return (
            message("Flink's meter, a mean of the last minute")
            if self.counted_ms is None
            else message("counted over {counted_ms:duration}", counted_ms=self.counted_ms)
        )


def records_in(vertex: VertexWindow) -> Rates:
    return _rates(vertex, vertex.counted_in_per_s, vertex.records_in_per_s)


def records_out(vertex: VertexWindow) -> Rates:
    return _rates(vertex, vertex.counted_out_per_s, vertex.records_out_per_s)


def _rates(vertex: VertexWindow, counted: Sequence[float | None], metered: Reals) -> Rates:
    reporting = sum(rate is not None for rate in counted)
    if reporting and reporting >= REPORTING_SHARE * max(vertex.parallelism or 0, len(metered)):
        return Rates(tuple(counted), vertex.counted_ms)
    return Rates(metered)
