from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from django.http import HttpRequest, HttpResponseBase


class Middleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response


def stream_within(
    context: Callable[[], AbstractContextManager[None]], chunks: Iterable[Any]
) -> Iterator[Any]:
    """Streams a response in the scope or language of its request, although the request has ended."""
    iterator = iter(chunks)
    while True:
        with context():
            try:
                chunk = next(iterator)
            except StopIteration:
                return
        yield chunk
