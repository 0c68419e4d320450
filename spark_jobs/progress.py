import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str], None]


def _print(line: str) -> None:
    print(line, flush=True)


_listener: ContextVar[Listener] = ContextVar("listener", default=_print)


def say(line: str) -> None:
    _listener.get()(line)


def say_rows(name: str, rows: int, since: float) -> None:
    """``since``: the start of the step by ``time.monotonic``."""
    say(f"{name}: {rows} rows, {time.monotonic() - since:.1f} s")


@contextmanager
def sent_to(listener: Listener) -> Iterator[None]:
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
