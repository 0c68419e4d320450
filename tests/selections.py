"""What `make test` tries of many similar inputs, and what it counts as one test."""

import itertools
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import pytest


def mostly_long(
    values: Iterable[Any], short: int = 1, ids: Sequence[str] = (), *, spread: bool = False
) -> list[Any]:
    """Parameters of a test that takes seconds for each: `make test` tries the first ``short``,
    `make integration` all of them. ``spread``: each is a tuple of several parameters.
    """
    return [
        pytest.param(
            *(value if spread else (value,)),
            id=ids[place] if ids else None,
            marks=pytest.mark.long if place >= short else (),
        )
        for place, value in enumerate(values)
    ]


def for_each(**values: Collection[Any]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """One test of all combinations, where each takes less than a test by itself would; the first
    that fails is in its traceback.
    """

    def over(check: Callable[..., None]) -> Callable[[], None]:
        def every_one() -> None:
            for chosen in itertools.product(*values.values()):
                check(**dict(zip(values, chosen, strict=True)))

        every_one.__doc__ = check.__doc__
        return every_one

    return over
