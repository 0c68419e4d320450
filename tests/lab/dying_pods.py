"""As much of a Kubernetes API on loopback as Flink's ResourceManager asks for. No pod of a
TaskManager lives: each ends within seconds, or a quota refuses it.
"""

import copy
import json
import queue
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

OUT_OF_MEMORY = {"exitCode": 137, "reason": "OOMKilled"}
QUOTA = (
    'pods "{name}" is forbidden: exceeded quota: team, requested: pods=1, used: pods=40, limited: '
    "pods=40"
)
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "orders", "uid": "0a4f2d4e-6f0b-4f6c-9d0e-1f2a3b4c5d6e"},
}


class DyingPods:
    """``ends``: the state in which containers terminate; None: a quota refuses all pods.
    ``is_scheduled``: the pods say that they found a node.
    """

    def __init__(
        self, ends: dict[str, Any] | None, *, is_scheduled: bool = True, lives_s: float = 4
    ) -> None:
        self.ends, self.is_scheduled = ends, is_scheduled
        self._lives_s = lives_s
        self._watches: list[queue.Queue[dict[str, Any]]] = []
        self._pods: list[dict[str, Any]] = []
        self._version = 1
        outer = self

        class Handler(_Handler):
            pods = outer

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def configuration(self, folder: Path) -> Path:
        """A kubeconfig that leads here."""
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "lab", "cluster": {"server": self.url}}],
            "users": [{"name": "lab", "user": {}}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "lab"}}],
            "current-context": "lab",
        }
        path = folder / "kubeconfig"
        path.write_text(json.dumps(content))
        return path

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def created(self, pod: dict[str, Any]) -> dict[str, Any]:
        self._version += 1
        pod["metadata"] |= {"resourceVersion": str(self._version), "uid": f"pod-{self._version}"}
        pod["status"] = {"phase": "Pending"}
        self._pods.append(pod)
        threading.Thread(target=self._live, args=(pod,), daemon=True).start()
        return pod

    def report(self, kind: str, pod: dict[str, Any]) -> None:
        for watch in self._watches:
            watch.put({"type": kind, "object": copy.deepcopy(pod)})

    def watched(self) -> Iterator[dict[str, Any]]:
        events: queue.Queue[dict[str, Any]] = queue.Queue()
        self._watches.append(events)
        yield from ({"type": "ADDED", "object": pod} for pod in list(self._pods))
        while True:
            yield events.get()

    def _live(self, pod: dict[str, Any]) -> None:
        name = pod["spec"]["containers"][0]["name"]
        self.report("ADDED", pod)
        running = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
        for phase, state in (("Running", running), ("Failed", {"terminated": self.ends})):
            time.sleep(self._lives_s / 2)
            status = {"name": name, "restartCount": 0, "ready": False, "state": state}
            scheduled = {"type": "PodScheduled", "status": str(self.is_scheduled)}
            pod["status"] = {"phase": phase, "conditions": [scheduled]}
            pod["status"]["containerStatuses"] = [status]
            self.report("MODIFIED", pod)


class _Handler(BaseHTTPRequestHandler):
    pods: DyingPods
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.headers.get("Upgrade"):
            self._answer(200, {"kind": "Status"})  # it then asks without a web socket
        elif "watch=true" in self.path:
            self._watch()
        elif "/deployments/" in self.path:
            self._answer(200, DEPLOYMENT)
        else:
            listed = {"apiVersion": "v1", "kind": "PodList", "metadata": {"resourceVersion": "1"}}
            self._answer(200, listed | {"items": []})

    def do_POST(self) -> None:
        pod = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.pods.ends is not None:
            self._answer(201, self.pods.created(pod))
            return
        message = QUOTA.format(name=pod["metadata"]["name"])
        status = {"apiVersion": "v1", "kind": "Status", "status": "Failure", "message": message}
        self._answer(403, status | {"reason": "Forbidden", "code": 403})

    def do_DELETE(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self._answer(200, {"apiVersion": "v1", "kind": "Status", "status": "Success"})

    def log_message(self, *_: Any) -> None:
        """Nothing."""

    def _watch(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in self.pods.watched():
            line = json.dumps(event).encode() + b"\n"
            self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
            self.wfile.flush()

    def _answer(self, code: int, body: dict[str, Any]) -> None:
        content = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
