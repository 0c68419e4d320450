"""Caches a function's last result: several rules ask the same of one window."""

from collections.abc import Callable
from operator import is_
from typing import Any, TypeVar

ArgumentT = TypeVar("ArgumentT")
ResultT = TypeVar("ResultT")


def caches_last_result(
    is_same: Callable[[Any, Any], bool] = is_,
) -> Callable[[Callable[[ArgumentT], ResultT]], Callable[[ArgumentT], ResultT]]:

    def caching(function: Callable[[ArgumentT], ResultT]) -> Callable[[ArgumentT], ResultT]:
        last: tuple[ArgumentT, ResultT] | None = None

        def cached(argument: ArgumentT) -> ResultT:
            nonlocal last
            previous = last  # read once: another thread may replace it
            if previous is None or not is_same(previous[0], argument):
                previous = last = argument, function(argument)
            return previous[1]

        return cached

    return caching
