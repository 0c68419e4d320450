from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def chunks(rows: Iterable[T], size: int) -> Iterator[list[T]]:
    """As ``itertools.batched``, which Python has only from 3.12 on."""
    source = iter(rows)
    while chunk := list(islice(source, size)):
        yield chunk
