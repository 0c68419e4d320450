"""A list of clusters as their owners keep one: over HTTP, in the form of Prometheus' service
discovery, and changed at any time.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.lab.cluster import Lab


class Inventory:
    """``clusters`` are listed below ``/clusters`` by the address of a JobManager, below
    ``/reporters`` by those that are to be scraped.

    ``moved``: addresses by cluster, where another JobManager is to be asked than that which stood
    first.
    """

    def __init__(self) -> None:
        self.clusters: dict[str, Lab] = {}
        self.moved: dict[str, str] = {}
        self.url = ""

    def answer(self, path: str) -> list[dict[str, Any]] | None:
        listed = dict(self.clusters)
        match path:
            case "/clusters":
                targets = {
                    name: [self.moved.get(name, lab.url).removeprefix("http://")]
                    for name, lab in listed.items()
                }
            case "/reporters":
                targets = {
                    name: [f"127.0.0.1:{port}" for port in lab.reporter_ports]
                    for name, lab in listed.items()
                }
            case _:
                return None
        return [
            {"targets": found, "labels": {"cluster": name, "team": "lab"}}
            for name, found in targets.items()
        ]


@contextmanager
def served() -> Iterator[Inventory]:
    inventory = Inventory()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            document = inventory.answer(self.path)
            body = json.dumps(document or []).encode()
            self.send_response(404 if document is None else 200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_said: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        inventory.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield inventory
        finally:
            server.shutdown()
