"""Undocumented errors of file systems: each uses a library of its own."""

from collections.abc import Iterator
from contextlib import contextmanager

from ingest.errors import IngestError


class NotOpened(OSError):
    """``strerror`` names the type of error, not its text, which may hold a server's answer."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.strerror = type(error).__name__


@contextmanager
def as_os_error() -> Iterator[None]:
    """Our own errors and answers with a status pass; all else becomes :class:`NotOpened`."""
    try:
        yield
    except (OSError, ValueError, ImportError, IngestError):
        raise
    except Exception as error:
        if isinstance(getattr(error, "status", None), int):
            raise
        raise NotOpened(error) from error
