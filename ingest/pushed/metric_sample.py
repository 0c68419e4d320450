"""A separate module, since processes that import the spool need no readers of bodies."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Sample:
    """``labels``: some of ``otlp_metrics.LABELS``. ``at_s``: epoch seconds."""

    name: str
    labels: tuple[tuple[str, str], ...]
    at_s: float
    value: float
