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
    redirected, http_error, too_large, bad_json or ``NOT_MEASURED``."""

    def __init__(self, message: str, reason: str, path: str, status: int | None = None) -> None:
        super().__init__(message)
        self.reason, self.path, self.status = reason, path, status


Fault = Unanswered | BadAnswer

NOT_MEASURED = "not_measured"
"""Back-pressure of a vertex of which the JobManager has metrics, but of none of its subtasks.

From 1.18 on it has those of a source's coordinator, which runs in the JobManager, at once, those of subtasks when it has fetched them
(every 10 s). ``JobVertexBackPressureHandler`` takes the greatest ratio of no subtasks in between, which throws.
"""
_NO_GREATEST_RATIO = (b"java.util.NoSuchElementException", b"JobVertexBackPressureHandler.getMaxBackPressureRatio(")

RETRIED_STATUSES = frozenset({429, 502, 503, 504})


def fault_of_status(status: int, path: str, said: bytes = b"") -> Fault:
    """The fault that an answer with any status but 200 means; ``said`` is how its body begins.

    The body is not repeated: an address that was entered by hand may lead to a server other than Flink's.
    """
    message = f"{path} answered HTTP {status}"
    if status in RETRIED_STATUSES:
        return Unanswered(f"{message}.", "http_error", path, status)
    if status in (401, 403):
        return BadAnswer(f"{message}. Check user, password, token or ticket of this cluster.", "unauthorized", path, status)
    if status == 404:
        return BadAnswer(f"{message}.", "not_found", path, status)
    if status == 500 and all(part in said for part in _NO_GREATEST_RATIO):
        return BadAnswer(f"{message}, since the JobManager has metrics of none of its subtasks.", NOT_MEASURED, path, status)
    return BadAnswer(f"{message}; the log of the JobManager says why.", "http_error", path, status)
