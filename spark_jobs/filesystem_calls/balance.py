"""Jobs over groups of NameNodes, so that none has much more to do than another: longest processing
time first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Move:
    job: int
    source: str
    target: str


@dataclass(frozen=True)
class Balanced:
    """Calls a second by group, as it is and as it would be, and the jobs that would have to move,
    most calls first.
    """

    before: Mapping[str, float]
    after: Mapping[str, float]
    moves: Sequence[Move]


def balanced(per_s: Sequence[float], at: Sequence[str], groups: Sequence[str]) -> Balanced:
    """``at``: by job the group it is in. The heaviest job goes first, each to the group with least;
    of equal ones to its own.

    Which part becomes which group is free: each takes the one whose jobs it has most of already, so
    that few move.
    """
    names = list(dict.fromkeys((*groups, *at)))
    before = dict.fromkeys(names, 0.0)
    for load, name in zip(per_s, at, strict=True):
        before[name] += load
    loads, part_of = [0.0] * len(names), [0] * len(per_s)
    for job in sorted(range(len(per_s)), key=lambda job: -per_s[job]):
        own = names.index(at[job])
        part = min(range(len(names)), key=lambda part: (loads[part], part != own))
        loads[part] += per_s[job]
        part_of[job] = part
    if max(loads, default=0.0) >= max(before.values(), default=0.0):
        return Balanced(before, before, ())
    named = _named(part_of, at, names)
    after = {named[part]: load for part, load in enumerate(loads)}
    moves = [
        Move(job, at[job], named[part])
        for job, part in enumerate(part_of)
        if named[part] != at[job]
    ]
    return Balanced(
        before,
        {name: after[name] for name in names},
        sorted(moves, key=lambda move: -per_s[move.job]),
    )


def _named(part_of: Sequence[int], at: Sequence[str], names: Sequence[str]) -> dict[int, str]:
    """Parts by the group whose jobs they hold, those that share most first."""
    shared: dict[tuple[int, str], int] = {}
    for part, name in zip(part_of, at, strict=True):
        shared[part, name] = shared.get((part, name), 0) + 1
    name_of: dict[int, str] = {}
    everything = ((part, name) for part in range(len(names)) for name in names)
    for part, name in sorted(everything, key=lambda pair: -shared.get(pair, 0)):
        if part not in name_of and name not in name_of.values():
            name_of[part] = name
    return name_of
