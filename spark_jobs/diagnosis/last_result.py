"""Caches the last result of a function: several rules compute the same for one window."""

from collections.abc import Callable
from operator import is_
from typing import Any, TypeVar

ArgumentT = TypeVar("ArgumentT")
ResultT = TypeVar("ResultT")


def caches_last_result(
    same: Callable[[Any, Any], bool] = is_,
) -> Callable[[Callable[[ArgumentT], ResultT]], Callable[[ArgumentT], ResultT]]:

    def caching(function: Callable[[ArgumentT], ResultT]) -> Callable[[ArgumentT], ResultT]:
        last: tuple[ArgumentT, ResultT] | None = None

        def cached(of: ArgumentT) -> ResultT:
            nonlocal last
            known = last  # read once: another thread may replace it
            if known is None or not same(known[0], of):
                known = last = of, function(of)
            return known[1]

        return cached

    return caching
