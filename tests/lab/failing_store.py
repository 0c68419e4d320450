"""An S3 on loopback that answers writes as a store does that is near its limit, or whose
policy was changed.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

FAULTS = {
    "SlowDown": ("503 Slow Down", "Please reduce your request rate."),
    "AccessDenied": ("403 Forbidden", "Access Denied"),
}
BUCKET = "lake"


class FailingStore:
    """``fault``: a key of ``FAULTS``, from ``after_s`` on for ``for_s``."""

    def __init__(self, address: tuple[str, int], fault: str, after_s: float, for_s: float) -> None:
        # They take a second, and few labs need them.
        import boto3
        from moto.server import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import make_server

        self._status, self._message = FAULTS[fault]
        self._fault = fault
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        began = time.monotonic()
        self._from, self._to = began + after_s, began + after_s + for_s
        self._store = DomainDispatcherApplication(create_backend_app)
        self._server = make_server(*address, self._answer, threaded=True)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        host, port = address
        boto3.client(
            "s3",
            endpoint_url=f"http://{host}:{port}",
            aws_access_key_id="lab",
            aws_secret_access_key="lab",
            region_name="us-east-1",
        ).create_bucket(Bucket=BUCKET)

    def end_fault(self) -> None:
        self._to = time.monotonic()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        is_write = environ["REQUEST_METHOD"] in ("PUT", "POST") and path.count("/") > 2
        if is_write and self._from <= time.monotonic() < self._to:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            return self._refuse(start)
        return self._store(environ, start)

    def _refuse(self, start: Callable[..., Any]) -> Iterable[bytes]:
        body = (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f"<Error><Code>{self._fault}</Code><Message>{self._message}</Message>"
            "<RequestId>4442587FB7D0A2F9</RequestId></Error>"
        ).encode()
        head = [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))]
        start(self._status, head)
        return [body]
