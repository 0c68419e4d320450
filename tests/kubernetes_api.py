"""An API server as far as Weir asks one: lists in pages, over HTTPS with an own authority and a token.

It is no real one: what it answers follows Kubernetes' published API conventions. Runs in a thread
of its own, on loopback.
"""

import asyncio
import base64
import json
import ssl
import threading
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import yaml

from tests.ingest.flink_rest.certificates import make_certificates

TOKEN = "canary-token-of-the-service-account"
FLINK, CORE = "/apis/flink.apache.org/v1beta1", "/api/v1"
OF_FLINK = (
    "flinkdeployments",
    "flinkbluegreendeployments",
    "flinksessionjobs",
    "flinkstatesnapshots",
)
GROUPS = dict.fromkeys(OF_FLINK, FLINK)
KINDS = (
    *OF_FLINK,
    "services",
    "configmaps",
    "events",
    "pods",
)


class KubernetesApi:
    """``put`` and ``delete`` change what it holds; ``odd`` maps a part of a request to raw bytes to
    answer it by instead.

    ``asked`` keeps all requests.
    """

    def __init__(self, folder):
        self.folder = folder
        certificates = make_certificates(folder)
        self.ca_file, self.cert_file, self.key_file = (
            certificates.ca_file,
            certificates.client_cert_file,
            certificates.client_key_file,
        )
        self._tls = certificates.server
        self._tls.verify_mode = ssl.CERT_OPTIONAL
        self.held = {kind: {} for kind in KINDS}
        self.version = 100
        self.odd = {}
        self.asked = []
        self.page = 500
        self._loop = asyncio.new_event_loop()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._started.wait(10)

    @property
    def url(self):
        return f"https://127.0.0.1:{self.port}"

    def put(self, kind, found):
        key = (found["metadata"]["namespace"], found["metadata"]["name"])
        self.held[kind][key] = found

    def delete(self, kind, found):
        del self.held[kind][found["metadata"]["namespace"], found["metadata"]["name"]]

    def kubeconfig(self, name="config", *, user=None, cluster=None, context="prod", current="prod"):
        """As ``kubectl config`` writes it, with data instead of files."""
        ca = base64.b64encode(Path(self.ca_file).read_bytes()).decode()
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "preferences": {},
            "clusters": [
                {
                    "name": "c",
                    "cluster": {"server": self.url, "certificate-authority-data": ca}
                    | (cluster or {}),
                }
            ],
            "users": [{"name": "u", "user": {"token": TOKEN} if user is None else user}],
            "contexts": [
                {"name": context, "context": {"cluster": "c", "user": "u", "namespace": "shop"}}
            ],
            "current-context": current,
        }
        path = self.folder / name
        path.write_text(yaml.safe_dump(document))
        return str(path)

    def service_account(self):
        """The folder that is mounted into a pod."""
        folder = self.folder / "serviceaccount"
        folder.mkdir(exist_ok=True)
        (folder / "token").write_text(TOKEN)
        (folder / "ca.crt").write_bytes(Path(self.ca_file).read_bytes())
        (folder / "namespace").write_text("shop")
        return str(folder)

    def stop(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def _run(self):
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        )
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0))
        self._loop.close()

    async def _serve(self, reader, writer):
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                target = head.split(b" ")[1].decode()
                self.asked.append(target)
                signed = f"Bearer {TOKEN}".encode() in head or writer.get_extra_info("peercert")
                for part, raw in self.odd.items():
                    if part in target:
                        for piece in raw if isinstance(raw, list) else [raw]:
                            if piece is None:
                                await asyncio.sleep(3600)
                            writer.write(piece)
                            await writer.drain()
                        writer.close()
                        return
                writer.write(self._answer(target) if signed else status(401))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.close()

    def _answer(self, target):
        parts = urlsplit(target)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        *before, kind = parts.path.split("/")
        namespace = before[-1] if len(before) > 2 and before[-2] == "namespaces" else ""
        if kind not in self.held or not parts.path.startswith(GROUPS.get(kind, CORE)):
            return (
                b"HTTP/1.1 404 Not Found\r\ncontent-type: text/plain\r\ncontent-length: "
                b"19\r\n\r\n404 page not found\n"
            )
        items = [
            one
            for (of, _name), one in sorted(self.held[kind].items())
            if namespace in ("", of) and _selected(one, asked)
        ]
        start = int(asked.get("continue", "0"))
        end = start + min(int(asked.get("limit", "500")), self.page)
        more = (
            {"continue": str(end), "remainingItemCount": len(items) - end}
            if end < len(items)
            else {}
        )
        answer = {
            "kind": "List",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": str(self.version)} | more,
            "items": items[start:end],
        }
        return ok(answer)


def _selected(found, asked):
    """Equality and ``in`` of label selectors."""
    labels = found["metadata"]["labels"]
    for term in filter(None, asked.get("labelSelector", "").replace(",flink", ";flink").split(",")):
        if " in (" in term:
            name, _in, values = term.partition(" in (")
            if labels.get(name) not in values.rstrip(")").split(";"):
                return False
        elif "=" in term and labels.get(term.partition("=")[0]) != term.partition("=")[2]:
            return False
    return True


def ok(document):
    body = json.dumps(document).encode()
    return (
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
        % len(body)
        + body
    )


def status(code, **headers):
    body = json.dumps(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "code": code,
            "message": "canary-of-the-server",
        }
    ).encode()
    more = "".join(
        f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items()
    ).encode()
    return (
        b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\n%scontent-length: %d\r\n\r\n"
        % (code, more, len(body))
        + body
    )


def chunked(*pieces):
    head = (
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    return head + b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
