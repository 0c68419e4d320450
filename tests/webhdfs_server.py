"""What a NameNode and a DataNode answer, over a local folder, in the forms of Hadoop's published
WebHDFS REST API.

No NameNode took part; Hadoop 3.5.0's own client (``WebHdfsFileSystem``) lists, pages, reads,
writes, renames and deletes here.
"""

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

PREFIX, DATANODE = "/webhdfs/v1", "/datanode"
TOKEN = "JQAIaG9y-secret"


class WebHdfsServer(ThreadingHTTPServer):
    """``page`` is ``dfs.ls.limit``; ``answers`` maps an operation to a status and body that stand
    for it; ``asked`` is what came.
    """

    daemon_threads = True

    def __init__(self, folder: Path, page: int = 1000) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder, self.page = folder, page
        self.answers: dict[str, tuple[int, bytes]] = {}
        self.knows_pages = True
        self.datanode = f"http://127.0.0.1:{self.server_port}{DATANODE}"
        self.asked: list[str] = []

    @property
    def uri(self) -> str:
        return f"webhdfs://127.0.0.1:{self.server_port}"


@contextmanager
def serving(folder: Path, page: int = 1000) -> Iterator[WebHdfsServer]:
    server = WebHdfsServer(folder, page)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def status_of(path: Path, suffix: str) -> dict[str, Any]:
    found = path.lstat()
    kind = "SYMLINK" if path.is_symlink() else "DIRECTORY" if path.is_dir() else "FILE"
    return {
        "accessTime": 1320171722771,
        "blockSize": 33554432,
        "childrenNum": 0,
        "fileId": found.st_ino,
        "group": "supergroup",
        "length": found.st_size if kind == "FILE" else 0,
        "modificationTime": found.st_mtime_ns // 1_000_000,
        "owner": "webuser",
        "pathSuffix": suffix,
        "permission": "644",
        "replication": 3 if kind == "FILE" else 0,
        "storagePolicy": 0,
        "type": kind,
    }


_PACKAGES = {"FileNotFoundException": "java.io", "IllegalArgumentException": "java.lang"}


def exception(name: str, message: str) -> bytes:
    class_name = f"{_PACKAGES.get(name, 'org.apache.hadoop')}.{name}"
    return json.dumps(
        {"RemoteException": {"exception": name, "javaClassName": class_name, "message": message}}
    ).encode()


class _Handler(BaseHTTPRequestHandler):
    server: WebHdfsServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer()

    do_PUT = do_POST = do_DELETE = do_GET

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self) -> None:
        parts = urlsplit(self.path)
        # As a NameNode has it, names of parameters are the same in any case; Hadoop's own client
        # writes them small.
        said = {
            name.lower(): value for name, value in parse_qsl(parts.query, keep_blank_values=True)
        }
        body = self._body()
        op = said.get("op", "")
        name = unquote(parts.path).removeprefix(PREFIX).removeprefix(DATANODE)
        path = self.server.folder / name.strip("/")
        at_datanode = parts.path.startswith(DATANODE)
        self.server.asked.append(
            f"{'datanode' if at_datanode else 'namenode'} {self.command} {op} {name}"
        )
        status, content, location = 200, b"", ""
        if (("DATANODE " if at_datanode else "") + op) in self.server.answers:
            status, content = self.server.answers[("DATANODE " if at_datanode else "") + op]
        elif at_datanode:
            status, content = (201 if op == "CREATE" else 200), self._datanode(path, said, body)
        elif (op == "OPEN" and path.exists()) or op in ("CREATE", "APPEND"):
            status = 307
            location = f"{self.server.datanode}{parts.path.removeprefix(PREFIX)}?{parts.query}"
        else:
            status, content = self._namenode(op, path, name, said)
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _namenode(self, op: str, path: Path, name: str, said: dict[str, str]) -> tuple[int, bytes]:
        if op in ("RENAME", "MKDIRS", "DELETE"):
            return self._changed(op, path, name, said)
        if not path.exists() and not path.is_symlink():
            return 404, exception("FileNotFoundException", f"File does not exist: {name}")
        if op == "GETFILESTATUS":
            return _json({"FileStatus": status_of(path, "")})
        if op == "LISTSTATUS":
            return _json({"FileStatuses": {"FileStatus": _children(path)}})
        if op == "LISTSTATUS_BATCH" and self.server.knows_pages:
            left = [
                child
                for child in _children(path)
                if path.is_file() or child["pathSuffix"] > said.get("startafter", "")
            ]
            page = left[: self.server.page]
            listing = {
                "partialListing": {"FileStatuses": {"FileStatus": page}},
                "remainingEntries": len(left) - len(page),
            }
            return _json({"DirectoryListing": listing})
        no_constant = (
            'Invalid value for webhdfs parameter "op": No enum constant '
            f"org.apache.hadoop.hdfs.web.resources.GetOpParam.Op.{op}"
        )
        return 400, exception("IllegalArgumentException", no_constant)

    def _changed(self, op: str, path: Path, name: str, said: dict[str, str]) -> tuple[int, bytes]:
        there = path.exists()
        if op == "MKDIRS":
            path.mkdir(parents=True, exist_ok=True)
            return _json({"boolean": True})
        if op == "RENAME":
            target = self.server.folder / said["destination"].strip("/")
            done = there and not target.exists() and target.parent.is_dir()
            if done:
                path.rename(target)
            return _json({"boolean": done})
        if path.is_dir() and said.get("recursive") == "true":
            shutil.rmtree(path)
        elif path.is_dir():
            if any(path.iterdir()):
                return 403, exception(
                    "PathIsNotEmptyDirectoryException",
                    f"`{name} is non empty': Directory is not empty",
                )
            path.rmdir()
        elif there:
            path.unlink()
        return _json({"boolean": there})

    def _datanode(self, path: Path, said: dict[str, str], body: bytes) -> bytes:
        if said["op"] == "OPEN":
            start = int(said.get("offset", 0))
            content = path.read_bytes()[start:]
            return content[: int(said["length"])] if "length" in said else content
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb" if said["op"] == "CREATE" else "ab") as out:
            out.write(body)
        return b""


def _children(path: Path) -> list[dict[str, Any]]:
    """As a NameNode sorts them."""
    if path.is_file():
        return [status_of(path, "")]
    return [
        status_of(child, child.name)
        for child in sorted(path.iterdir(), key=lambda child: child.name.encode())
    ]


def _json(document: object) -> tuple[int, bytes]:
    return 200, json.dumps(document).encode()
