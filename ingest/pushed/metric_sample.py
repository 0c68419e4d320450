"""One value of a metric that a reporter pushed; apart from what reads bodies, since every process
of Weir knows where samples wait.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sample:
    """``labels`` are those of :data:`ingest.pushed.otlp_metrics.LABELS` that it has; ``at_s`` is in
    epoch seconds.
    """

    name: str
    labels: tuple[tuple[str, str], ...]
    at_s: float
    value: float
