"""HDFS over HTTP. fsspec's client of WebHDFS ignores a failed rename, takes an error page for
content, waits without limit, follows any redirect, and has the delegation token in its errors.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import requests
from fsspec.implementations.webhdfs import WebHDFile, WebHDFS

from ingest.json_bounds import decoded
from ingest.json_members import member
from ingest.network.clusters import check_host
from ingest.network.deadlines import Late, TimedAdapter, TooLarge

TIMEOUT_S = (5, 60)
WHOLE_S = 180
MAX_ANSWER_BYTES = 64 * 1024**2
READ_BYTES = 8 * 1024**2
BATCH = "LISTSTATUS_BATCH"
_KINDS = {"FILE": "file", "DIRECTORY": "directory", "SYMLINK": "link"}
MAX_DEPTH = 1_000
_PORTS = {"webhdfs": 9870, "swebhdfs": 9871}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class WebHdfsError(OSError):
    """The message has no URL, whose parameters name the user."""


class WebHdfs(WebHDFS):  # type: ignore[misc]  # fsspec has no types
    """``webhdfs://[user@]host[:9870]/path`` and, over TLS, ``swebhdfs://…[:9871]``. Options:
    ``user``, ``token`` (of delegation), ``session_verify`` (authorities).
    """

    protocol = ("webhdfs", "swebhdfs")

    def __init__(
        self, host: str, port: int | None = None, use_https: bool = False, **options: Any
    ) -> None:
        if self._cached:
            return
        port = port or _PORTS["swebhdfs" if use_https else "webhdfs"]
        super().__init__(host, port, use_https=use_https, **options)

    @staticmethod
    def _get_kwargs_from_urls(urlpath: str) -> dict[str, Any]:
        options: dict[str, Any] = WebHDFS._get_kwargs_from_urls(urlpath)
        return options | ({"use_https": True} if urlpath.lower().startswith("swebhdfs:") else {})

    def _connect(self) -> None:
        super()._connect()
        self.session.trust_env = False
        for scheme in ("http://", "https://"):
            self.session.mount(scheme, _BoundedAdapter())

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        path = self._strip_protocol(path)
        return _entry(
            _field(self._document("GETFILESTATUS", path), "GETFILESTATUS", "FileStatus"), path
        )

    def ls(self, path: str, detail: bool = False, **options: Any) -> list[Any]:
        pages = list(self.pages(path))
        return pages if detail else [info["name"] for info in pages]

    def pages(self, path: str) -> Iterator[dict[str, Any]]:
        """Entries of ``path``; of a file, one with its name. Before 2.8, Hadoop sends a single
        page. Raises ``OSError``.
        """
        path = self._strip_protocol(path).rstrip("/") or "/"
        if path.count("/") > MAX_DEPTH:
            raise WebHdfsError(
                f"{path[:80]}… is deeper than HDFS allows ({MAX_DEPTH:,}); check what "
                "answers as the NameNode."
            )
        after: str | None = None
        while True:
            try:
                page = self._document(
                    BATCH, path, **({} if after is None else {"startAfter": after})
                )
                statuses = _field(
                    page, BATCH, "DirectoryListing", "partialListing", "FileStatuses", "FileStatus"
                )
                remaining = _field(page, BATCH, "DirectoryListing", "remainingEntries")
            except _UnknownOperation:
                statuses = _field(
                    self._document("LISTSTATUS", path), "LISTSTATUS", "FileStatuses", "FileStatus"
                )
                remaining = 0
            if not isinstance(statuses, list):
                raise WebHdfsError(f"The listing of {path} is not in the published form.")
            for status in statuses:
                yield _entry(status, f"{path.rstrip('/')}/{_child_name(status)}".rstrip("/") or "/")
            if not remaining:
                return
            last = _child_name(statuses[-1]) if statuses else ""
            if not last or (after is not None and _utf8(last) <= _utf8(after)):
                raise WebHdfsError(
                    f"The pages of {path} never end; check what answers as the NameNode."
                )
            after = last

    def mv(self, path1: str, path2: str, **options: Any) -> None:
        if not self._succeeds("RENAME", "put", path1, destination=self._strip_protocol(path2)):
            raise WebHdfsError(
                f"The NameNode did not rename {path1}: it is gone, or something is at {path2}."
            )

    def rm(self, path: str, recursive: bool = False, **options: Any) -> None:
        if not self._succeeds("DELETE", "delete", path, recursive=str(bool(recursive)).lower()):
            raise FileNotFoundError(f"The NameNode has no {path}.")

    def rmdir(self, path: str) -> None:
        self.rm(path)

    def mkdir(self, path: str, **options: Any) -> None:
        if not self._succeeds("MKDIRS", "put", path):
            raise WebHdfsError(f"The NameNode did not make the directory {path}.")

    def _succeeds(self, op: str, method: str, path: str, **parameters: str) -> bool:
        return _field(self._document(op, path, method, **parameters), op, "boolean") is True

    def _document(self, op: str, path: str, method: str = "get", **parameters: str) -> Any:
        answer = self._call(op, method=method, path=path, **parameters)
        try:
            return decoded(answer.content, lenient=True)[0]
        except (ValueError, RecursionError) as error:
            raise WebHdfsError(
                f"The answer to {op} of {path} is not JSON ({error}); is this the "
                "address of a NameNode?"
            ) from error

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        autocommit: bool = True,
        **options: Any,
    ) -> "_File":
        return _File(
            self,
            path,
            mode=mode,
            block_size=block_size or self.blocksize,
            tempdir=self.tempdir,
            autocommit=autocommit,
        )


class _File(WebHDFile):  # type: ignore[misc]  # fsspec has no types
    def _fetch_range(self, start: int, end: int) -> bytes:
        start, end = max(start, 0), min(self.size, end)
        return b"".join(
            self._piece(at, min(at + READ_BYTES, end)) for at in range(start, end, READ_BYTES)
        )

    def _piece(self, start: int, end: int) -> bytes:
        content: bytes = self.fs._call(
            "OPEN", path=self.path, offset=start, length=end - start
        ).content
        if len(content) != end - start:
            raise WebHdfsError(
                f"{self.path} ended after {len(content):,} of {end - start:,} bytes from {start:,}."
            )
        return content


class _BoundedAdapter(TimedAdapter):
    def __init__(self) -> None:
        super().__init__(WHOLE_S, TIMEOUT_S, MAX_ANSWER_BYTES)

    def send(
        self, request: requests.PreparedRequest, *args: Any, **options: Any
    ) -> requests.Response:
        parts = urlsplit(str(request.url))
        host = str(parts.hostname)
        check_host(host, parts.port)
        try:
            answer = super().send(request, *args, **options)
        except TooLarge:
            raise WebHdfsError(
                f"{host} answered more than {MAX_ANSWER_BYTES:,} bytes; its directory "
                "is too large for a page."
            ) from None
        except Late:
            raise WebHdfsError(
                f"{host} did not answer completely within {self.whole_s:g} s; check its load."
            ) from None
        except requests.RequestException as error:
            raise WebHdfsError(
                f"{host} did not answer as WebHDFS does ({type(error).__name__})."
            ) from None
        if answer.status_code >= 400:
            raise _refusal(answer, host)
        return answer


class _UnknownOperation(WebHdfsError):
    pass


def _refusal(answer: requests.Response, host: str) -> OSError:
    try:
        exception = decoded(answer.content[:65_536], lenient=True)[0]["RemoteException"]
        kind = str(exception["exception"])
        detail = str(exception["message"]).partition("\n")[0][:300]
    except (ValueError, RecursionError, LookupError, TypeError):
        return WebHdfsError(f"{host} answered {answer.status_code} {str(answer.reason)[:60]}.")
    if kind == "FileNotFoundException":
        return FileNotFoundError(detail)
    if kind in ("AccessControlException", "SecurityException"):
        return PermissionError(detail)
    if kind == "IllegalArgumentException" and BATCH in detail:
        return _UnknownOperation(detail)
    return WebHdfsError(f"{host}: {kind}: {detail}")


def _field(document: Any, op: str, *names: str) -> Any:
    for name in names:
        if not isinstance(document, dict) or name not in document:
            raise WebHdfsError(
                f"The answer to {op} has no {'.'.join(names)}; is this the address of a NameNode?"
            )
        document = document[name]
    return document


def _utf8(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")


def _child_name(status: Any) -> str:
    name = member(status, "pathSuffix")
    if not isinstance(name, str) or "/" in name or "\x00" in name or name in (".", ".."):
        raise WebHdfsError(
            f"The NameNode lists {str(name)[:80]!r}, which is not a valid file name."
        )
    return name


def _entry(status: Any, path: str) -> dict[str, Any]:
    kind, length, modified = (
        _field(status, "a listing", name) for name in ("type", "length", "modificationTime")
    )
    if not isinstance(kind, str) or not all(
        type(number) is int and 0 <= number < 2**63 for number in (length, modified)
    ):
        raise WebHdfsError(f"The NameNode's answer about {path} is not in the published form.")
    try:
        mtime = _EPOCH + timedelta(milliseconds=modified)
    except OverflowError:
        mtime = None
    return {
        "name": path,
        "size": length,
        "type": _KINDS.get(kind, "other"),
        "mtime": mtime,
        "replication": status.get("replication"),
    }
