"""Undocumented errors of file systems, each of which uses another library."""

from collections.abc import Iterator
from contextlib import contextmanager

from ingest.errors import IngestError


class NotOpened(OSError):
    """``strerror`` is the type of the error: its text may contain a server's answer."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.strerror = type(error).__name__


@contextmanager
def as_os_error() -> Iterator[None]:
    """Turns libraries' errors into ``NotOpened``, except those with an HTTP status."""
    try:
        yield
    except (OSError, ValueError, ImportError, IngestError):
        raise
    except Exception as error:
        if isinstance(getattr(error, "status", None), int):
            raise
        raise NotOpened(error) from error
