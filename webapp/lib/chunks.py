from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def chunks(rows: Iterable[T], size: int) -> Iterator[list[T]]:
    """``itertools.batched`` of Python 3.12."""
    source = iter(rows)
    while chunk := list(islice(source, size)):
        yield chunk
