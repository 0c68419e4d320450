from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

Calls = NDArray[np.float64]


@dataclass(frozen=True)
class Burst:
    """Calls for a checkpoint, spread evenly over its duration. ``start_s`` may be negative."""

    start_s: float
    duration_s: float
    calls: float


def calls_by_second(bursts: Iterable[Burst], seconds: int) -> Calls:
    """Calls in each second; ``start_s`` of bursts is relative to the first."""
    calls = np.zeros(seconds)
    for burst in bursts:
        first, length = floor(burst.start_s), max(1, ceil(burst.duration_s))
        calls[max(first, 0) : max(first + length, 0)] += burst.calls / length
    return calls
