from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sample:
    """``labels``: some of :data:`ingest.pushed.otlp_metrics.LABELS`. ``at_s``: epoch seconds."""

    name: str
    labels: tuple[tuple[str, str], ...]
    at_s: float
    value: float
