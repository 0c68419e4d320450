import lzma
import zlib
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Any

import aiohttp
from fsspec.compression import compr

from ingest.flink_logs.documents import pieces
from ingest.flink_logs.layouts import layout_of, zone_of
from ingest.flink_logs.log_reader import LogReader
from ingest.flink_logs.names import age_order, is_packed
from ingest.flink_logs.record_splitter import Keep
from ingest.local_directories import NotAllowed, check_file, local_path, refusal_of_file
from ingest.messages import message
from ingest.network.filesystems import filesystem_of, open_uri
from ingest.network.unopened import as_os_error
from ingest.network.uris import spelled_as
from ingest.records import LogRecord, Observed, Skip
from ingest.redaction.texts import redact
from ingest.regular_files import open_regular

BATCH_RECORDS = 20_000
UNREADABLE = (OSError, EOFError, aiohttp.ClientError, zlib.error, lzma.LZMAError)

_UNPACKERS = {".gz": "gzip", ".bz2": "bz2", ".xz": "xz"}


@dataclass(frozen=True, slots=True)
class LogFile:
    """``size``: bytes in storage (packed). ``changed``: another text if the content may differ.
    ``own``: the file may be in Weir's own folder.
    """

    path: str
    size: int
    changed: str
    own: bool = False

    def open(self) -> IO[bytes]:
        return open_unpacked(self.path, self.own)


def find(globs: Iterable[str], own_globs: Container[str] = ()) -> tuple[list[LogFile], list[Skip]]:
    """Files that match a glob (path or fsspec URI), each once, the oldest of a process first. Files
    in Weir's own folder must match ``own_globs``: see ``ingest.local_directories``.
    """
    files: dict[str, LogFile] = {}
    skips: list[Skip] = []
    for pattern in globs:
        own = pattern in own_globs
        refusals: dict[str, str] = {}
        try:
            filesystem, path = filesystem_of(pattern)
            is_limited = not own and local_path(pattern) is not None
            with as_os_error():
                matches = (
                    filesystem.glob(path, detail=True).values()
                    if any(mark in path for mark in "*?[")
                    else [filesystem.info(path)]
                )
            for info in matches:
                if info.get("type") != "file":
                    continue
                if is_limited and (refusal := refusal_of_file(info["name"])):
                    refusals.setdefault(refusal, info["name"])
                    continue
                uri = _uri(pattern, filesystem, info["name"])
                if _is_utf8(uri):
                    files[uri] = LogFile(uri, int(info.get("size") or 0), _change_marker(info), own)
                else:
                    skips.append(
                        Skip(
                            ascii(uri),
                            "unreadable_file",
                            message("Its name is not UTF-8, so it is left out; rename it."),
                        )
                    )
        except NotAllowed as error:
            skips.append(unreadable(pattern, error))
        except (OSError, ValueError, ImportError, aiohttp.ClientError) as error:
            skips.append(
                Skip(
                    redact(pattern),
                    "unreadable_file",
                    message(
                        "Nothing could be listed there ({why:name}); check the path and its "
                        "permissions.",
                        why=error_text(error, remote="://" in pattern),
                    ),
                )
            )
        # One file for each refusal, since the pattern may match thousands.
        skips += [
            Skip(redact(name), "unreadable_file", sentence) for sentence, name in refusals.items()
        ]
    return sorted(files.values(), key=lambda file: age_order(file.path)), skips


def open_unpacked(path: str, is_trusted: bool = True) -> IO[bytes]:
    """Raises ``NotAllowed`` for a local file that must not be read, unless ``is_trusted``."""
    packing = _UNPACKERS.get(path[path.rfind(".") :]) if is_packed(path) else None
    if is_packed(path) and packing is None:
        raise OSError("this compression is not supported; use gzip, bzip2 or xz")
    local = local_path(path)
    if local is not None:
        file = open_regular(local, check=None if is_trusted else check_file)
        return file if packing is None else compr[packing](file, mode="rb")
    stream: IO[bytes] = open_uri(path, packing)
    return stream


def read_files(
    paths: Iterable[str], *, cluster: str, layout: str = "flink", time_zone: str = "UTC"
) -> Iterator[Observed]:
    """Records and skips in batches, the oldest file of a process first. ``observed_at``: time of
    the newest record so far.
    """
    newest: datetime | None = None
    for path in sorted(paths, key=age_order):
        for records, skips in read_file(path, layout=layout, time_zone=time_zone):
            times = [record.ts for record in records]
            newest = max([*times, *([newest] if newest else [])], default=None)
            if newest and (records or skips):
                yield Observed(cluster, newest, "log", (*records, *skips))


def read_file(
    path: str, *, layout: str = "flink", time_zone: str = "UTC", keep: Keep = "events"
) -> Iterator[tuple[list[LogRecord], Sequence[Skip]]]:
    """Records and skips in batches. A bad file becomes a skip."""
    compiled = layout_of(layout)
    reader = LogReader(compiled, zone_of(time_zone, compiled), file=path, keep=keep)
    records: list[LogRecord] = []
    file_skips: list[Skip] = []
    size = 0
    try:
        with open_unpacked(path) as stream:
            for data in pieces(stream):
                size += len(data)
                records += reader.feed(data)
                if len(records) >= BATCH_RECORDS:
                    yield records, ()
                    records = []
    except UNREADABLE as error:
        file_skips.append(unreadable(path, error))
    records += reader.close()
    if size and not reader.headers and not file_skips:
        file_skips.append(no_header(path))
    if records or file_skips or reader.skips:
        yield records, (*reader.skips, *file_skips)


def unreadable(path: str, error: BaseException) -> Skip:
    detail = str(error)
    if not isinstance(error, NotAllowed):
        detail = message(
            "It could not be read to its end ({why:name}); check that it is complete and readable.",
            why=error_text(error, remote="://" in path),
        )
    return Skip(redact(path), "unreadable_file", detail)


def no_header(path: str) -> Skip:
    return Skip(
        redact(path),
        "no_header",
        message(
            "No line of it begins a log record in the declared layout or in a known one; "
            "declare its log4j pattern, or exclude it from the globs."
        ),
    )


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _uri(pattern: str, filesystem: Any, name: str) -> str:
    return spelled_as(pattern, filesystem, name) if "://" in pattern else name


def _change_marker(info: dict[str, Any]) -> str:
    parts = (
        info.get(key)
        for key in ("mtime", "LastModified", "last_modified", "modified", "ETag", "etag", "ino")
    )
    return "|".join(str(part) for part in parts if part is not None)


def error_text(error: BaseException, *, remote: bool) -> str:
    """Leaves out a remote server's text: someone may have entered the URI to probe it."""
    text = getattr(error, "strerror", None) or ("" if remote else str(error))
    status = getattr(error, "status", None)
    return text or (f"it answered {status}" if isinstance(status, int) else type(error).__name__)
