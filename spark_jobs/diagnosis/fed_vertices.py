"""Event time of vertices with several feeders, by the watermark of each feeder: since Flink 2.0
there is no other figure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from spark_jobs.diagnosis.samples import VertexGauges

PAIRED_MS = 10_000
"""Samples of two vertices this close belong together: Flink updates figures every 10 s."""
SLACK_MS = 15_000
"""Figures of one event time are taken at different moments."""

UnknownBecause = Literal["no_watermark", "in_flight", "marked_idle"]


@dataclass(frozen=True)
class FedSample:
    """A sample of a vertex with feeders. ``sent_ms``: feeder → watermark, None if unknown.
    ``unknown_because``: why the distance between inputs is unknown; None if known.
    """

    vertex_id: str
    sent_ms: Mapping[str, int | None]
    unknown_because: UnknownBecause | None


def newest_fed_sample(
    vertex_id: str, feeders: Sequence[str], samples: Mapping[str, Sequence[VertexGauges]]
) -> FedSample | None:
    """``samples``: by vertex, oldest first. None if the vertex reports no event time."""
    for sample in reversed(samples.get(vertex_id, ())):
        if sample.received_watermark_ms is not None:
            sent_ms = {
                feeder: _sent_ms(samples.get(feeder, ()), sample.at_ms) for feeder in feeders
            }
            why_unknown = _why_unknown(
                sample.received_watermark_ms, sample.sent_watermark_ms, sent_ms
            )
            return FedSample(vertex_id, sent_ms, why_unknown)
    return None


def is_waited_for(slow_ms: int, fast_ms: int, forwarded_ms: int) -> bool:
    """Whether an operator that forwards ``forwarded_ms`` still waits for its slower input. An idle
    input's watermark stands still.
    """
    return forwarded_ms - slow_ms <= max((fast_ms - slow_ms) / 2, SLACK_MS)


def _sent_ms(samples: Sequence[VertexGauges], at_ms: int) -> int | None:
    candidates = [
        sample
        for sample in samples
        if sample.sent_watermark_ms is not None and abs(sample.at_ms - at_ms) <= PAIRED_MS
    ]
    nearest = min(candidates, key=lambda sample: abs(sample.at_ms - at_ms), default=None)
    return nearest.sent_watermark_ms if nearest else None


def _why_unknown(
    received_ms: int, forwarded_ms: int | None, sent_ms: Mapping[str, int | None]
) -> UnknownBecause | None:
    watermarks_ms = [watermark_ms for watermark_ms in sent_ms.values() if watermark_ms is not None]
    if len(watermarks_ms) < len(sent_ms) or forwarded_ms is None:
        return "no_watermark"
    slow_ms, fast_ms = min(watermarks_ms), max(watermarks_ms)
    if slow_ms - received_ms > max((fast_ms - slow_ms) / 2, SLACK_MS):
        return "in_flight"
    # The vertex is past its slowest feeder's watermark if a subtask or an input is marked idle.
    return (
        None if is_waited_for(slow_ms, fast_ms, max(received_ms, forwarded_ms)) else "marked_idle"
    )


def apart_ms(gauges: VertexGauges) -> int | None:
    """How far the first input is ahead of the second. None if unknown, or if the operator does not
    wait for the slower input.
    """
    first, second = gauges.input1_watermark_ms, gauges.input2_watermark_ms
    if first is None or second is None:
        return None
    forwarded_ms = gauges.sent_watermark_ms
    return (
        first - second
        if forwarded_ms is None
        or is_waited_for(min(first, second), max(first, second), forwarded_ms)
        else None
    )
