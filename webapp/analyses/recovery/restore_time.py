"""How long a restore takes, from those that were observed.

A restore takes a fixed time (deploying, opening files) and a time that grows with its bytes.
Neither is known by itself, but of any such sum a restore of r times the bytes takes between r times
and once the time, whichever is less or more. That is the range.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class RestoreRange:
    """``expected_ms``: what grew is taken to take longer in proportion, what shrank as long as
    before; the median of all observations.
    """

    least_ms: float
    expected_ms: float
    most_ms: float
    observations: int


def restore_range(
    observed: Sequence[tuple[float, int | None]], size_bytes: int | None
) -> RestoreRange | None:
    """``observed``: milliseconds and bytes of restores of one kind; None where none is known, or
    the sizes are not.
    """
    known = [(ms, size) for ms, size in observed if size]
    if not known or size_bytes is None:
        return None
    ratios = [(ms, size_bytes / size) for ms, size in known]
    return RestoreRange(
        least_ms=min(ms * min(ratio, 1) for ms, ratio in ratios),
        expected_ms=median(ms * max(ratio, 1) for ms, ratio in ratios),
        most_ms=max(ms * max(ratio, 1) for ms, ratio in ratios),
        observations=len(known),
    )


@dataclass(frozen=True)
class UnionReads:
    """Operator state in UNION mode: each of ``parallelism`` subtasks reads all ``files``, one after
    the other.

    ``inline`` handles and their bytes come with the deployment of each instead.
    """

    operator_id: str
    operator: str
    states: tuple[str, ...]
    parallelism: int
    files: int
    inline: int
    reads: int
    read_bytes: int
