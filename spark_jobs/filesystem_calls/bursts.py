from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Calls = NDArray[np.float64]


@dataclass(frozen=True)
class Burst:
    """Calls for a checkpoint, spread evenly over its duration. ``start_s``: since the start of the
    range.
    """

    start_s: float
    duration_s: float
    calls: float


def calls_by_second(checkpoints: Iterable[Burst], seconds: int) -> Calls:
    calls = np.zeros(seconds)
    for checkpoint in checkpoints:
        first, length = int(checkpoint.start_s // 1), max(1, int(-(-checkpoint.duration_s // 1)))
        calls[max(first, 0) : max(first + length, 0)] += checkpoint.calls / length
    return calls
