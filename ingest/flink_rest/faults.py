"""What can be wrong with an answer, in words and as the reason code of a skip."""

from ingest.errors import Retryable, Skipped


class Unanswered(Retryable):
    """No usable answer now: ``reason`` is unreachable, timeout or http_error; a later request may succeed.

    ``connected`` is false where not even a connection came about, so that nothing was requested.
    """

    def __init__(self, message: str, reason: str, path: str, status: int | None = None, *, connected: bool = True) -> None:
        super().__init__(message)
        self.reason, self.path, self.status, self.connected = reason, path, status, connected


class BadAnswer(Skipped):
    """An answer that cannot be used: ``reason`` is not_found, unauthorized, tls, refused_address,
    redirected, http_error, too_large or bad_json."""

    def __init__(self, message: str, reason: str, path: str, status: int | None = None) -> None:
        super().__init__(message)
        self.reason, self.path, self.status = reason, path, status


Fault = Unanswered | BadAnswer

RETRIED_STATUSES = frozenset({429, 502, 503, 504})


def fault_of_status(status: int, path: str) -> Fault:
    """The fault that an answer with any status but 200 means.

    The body is not repeated: an address that was entered by hand may lead to a server other than Flink's.
    """
    message = f"{path} answered HTTP {status}"
    if status in RETRIED_STATUSES:
        return Unanswered(f"{message}.", "http_error", path, status)
    if status in (401, 403):
        return BadAnswer(f"{message}. Check user, password, token or ticket of this cluster.", "unauthorized", path, status)
    if status == 404:
        return BadAnswer(f"{message}.", "not_found", path, status)
    return BadAnswer(f"{message}; the log of the JobManager says why.", "http_error", path, status)
