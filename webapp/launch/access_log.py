"""One line per request, without query and headers except the user agent: they may contain secrets."""

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ingest import log_lines
from webapp.lib.request_ids import VARIABLE

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

LONGEST = 300


class AccessLog:
    """Wraps an application; ``write`` gets the lines. The duration ends when the response begins."""

    def __init__(self, application: "WSGIApplication", write: Callable[[str], object]) -> None:
        self._application, self._write = application, write

    def __call__(
        self, environ: "WSGIEnvironment", start_response: "StartResponse"
    ) -> Iterable[bytes]:
        began = time.monotonic()

        def log_and_start(status: str, headers: list[tuple[str, str]], *error: Any) -> Any:
            length = next(
                (value for name, value in headers if name.lower() == "content-length"), "-"
            )
            request_id = str(environ.get(VARIABLE, ""))
            with log_lines.request_context(request_id):
                self._write(
                    (
                        f"{_line(environ, status, length, time.monotonic() - began)} {request_id}"
                    ).rstrip()
                )
            return start_response(status, headers, *error)

        return self._application(environ, log_and_start)


def _line(environ: "WSGIEnvironment", status: str, length: str, took_s: float) -> str:
    path = quote(environ.get("PATH_INFO", ""), safe="/~:@", encoding="latin-1")[:LONGEST]
    browser = quote(environ.get("HTTP_USER_AGENT", "-"), safe=" /().,;:+-_", encoding="latin-1")[
        :LONGEST
    ]
    method = quote(environ.get("REQUEST_METHOD", ""), safe="")[:LONGEST]
    return (
        f'{environ.get("REMOTE_ADDR", "-")} "{method} {path}" {status[:3]} {length} '
        f'{took_s * 1000:.0f} ms "{browser}"'
    )
