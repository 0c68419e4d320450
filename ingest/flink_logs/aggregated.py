"""Logs that YARN gathered of an application: in one file for each node all logs of all its
containers, by Hadoop's ``AggregatedLogFormat``. Its logs are taken for files below it:
``…/application_ID/host_45454/container_ID/jobmanager.log``.
"""

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

from ingest.flink_logs.tfile import PIECE_BYTES, BadTFile, Source, blocks_of, records, unpacked

_NODE = r".*(?:/|^)application_[0-9]{1,20}_[0-9]{1,10}/[^/]+_[0-9]{1,10}(?:_[0-9]{1,20})?"
_NODE_FILE = re.compile(_NODE)
_LOG = re.compile(rf"(?P<node>{_NODE})/(?P<container>container_[0-9a-z_]{{1,100}})/(?P<name>[^/]+)")
_CONTAINER = re.compile(r"container_(?:e[0-9]+_)?[0-9]+_[0-9]+_[0-9]+_[0-9]+")
MAX_LOGS = 10_000
MAX_UNPACKED_BYTES = 64 * 1024**3
"""Of one file: it is gone through once to find where its logs begin."""
MAX_KNOWN_LOGS = 100_000
_KNOWN: dict[str, tuple[str, tuple["ContainerLog", ...], str]] = {}
"""By file, what ``find`` saw in it last: YARN writes them once."""


@dataclass(frozen=True, slots=True)
class ContainerLog:
    """Where a log begins: the block, and how many bytes into it, in the content of its container's
    value.
    """

    container: str
    name: str
    bytes: int
    block: int
    begins: int


def is_node_file(path: str) -> bool:
    """By its name alone."""
    return _NODE_FILE.fullmatch(path) is not None


def node_file_of(path: str) -> str | None:
    """None where another program has laid logs out as files in the same way."""
    match = _LOG.fullmatch(path)
    return match["node"] if match else None


def logs_in(stream: IO[bytes]) -> tuple[tuple[ContainerLog, ...], str]:
    """All logs, and why those that follow could not be found ("" where there are none).

    Raises :class:`BadTFile` where none can be.
    """
    logs: list[ContainerLog] = []
    blocks = blocks_of(stream)
    unpacked_bytes = 0
    try:
        for number, block in enumerate(blocks):
            unpacked_bytes += block.raw_bytes
            if unpacked_bytes > MAX_UNPACKED_BYTES:
                raise BadTFile(f"it holds more than {MAX_UNPACKED_BYTES:,} bytes")
            for key, value in records(Source(unpacked(stream, block)), _is_container):
                for name, length in _names(value):
                    logs.append(ContainerLog(key[2:].decode(), name, length, number, value.taken))
                    if len(logs) >= MAX_LOGS:
                        raise BadTFile(f"it holds more than {MAX_LOGS:,} logs")
                    _drop(value, length)
    except BadTFile as error:
        if not logs:
            raise
        return tuple(logs), str(error.strerror)
    return tuple(logs), ""


def logs_of(
    node: str, stamp: str, open_node: Callable[[], IO[bytes]]
) -> tuple[tuple[ContainerLog, ...], str]:
    """As :func:`logs_in`, of the file ``node``; remembered for as long as ``stamp`` is the same,
    since the file is gone through for it.
    """
    known = _KNOWN.get(node)
    if known is None or known[0] != stamp:
        with open_node() as stream:
            known = (stamp, *logs_in(stream))
        if sum(len(logs) for _, logs, _ in _KNOWN.values()) > MAX_KNOWN_LOGS:
            _KNOWN.clear()
        _KNOWN[node] = known
    return known[1:]


def opened_log(node: str, open_node: Callable[[], IO[bytes]], path: str) -> IO[bytes]:
    """The log ``path`` of the file ``node``, as a stream.

    Raises :class:`BadTFile`, ``FileNotFoundError``.
    """
    stamp = _KNOWN[node][0] if node in _KNOWN else ""
    for log in logs_of(node, stamp, open_node)[0]:
        if path == f"{node}/{log.container}/{log.name}":
            return io.BufferedReader(_LogStream(open_node(), log), PIECE_BYTES)
    raise FileNotFoundError(path)


class _LogStream(io.RawIOBase):
    """Going back begins again, as in other packed files."""

    def __init__(self, node: IO[bytes], log: ContainerLog) -> None:
        self._node, self._log, self._at = node, log, 0
        self._pieces: Source | None = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        target = (
            offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._log.bytes}[whence]
        )
        if target < self._at:
            self._pieces, self._at = None, 0
        while self._at < target and (piece := self._some(min(target - self._at, PIECE_BYTES))):
            self._at += len(piece)
        return self._at

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        piece = self._some(len(buffer))
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)

    def close(self) -> None:
        self._node.close()
        super().close()

    def _some(self, most: int) -> bytes:
        if self._pieces is None:
            self._pieces = Source(self._content())
        left = self._log.bytes - self._at
        piece = self._pieces.some(min(most, left)) if left > 0 else b""
        if left > 0 and most and not piece:
            raise BadTFile("the log ends before its time; was the file copied whole?")
        return piece

    def _content(self) -> Iterator[bytes]:
        block = blocks_of(self._node)[self._log.block]
        for key, value in records(Source(unpacked(self._node, block)), _is_container):
            if key[2:].decode() == self._log.container:
                _drop(value, self._log.begins)
                while piece := value.some(PIECE_BYTES):
                    yield piece


def _is_container(key: bytes) -> bool:
    """Others are of the application: its owner, who may see it, the version.

    Two bytes say how long it is.
    """
    return _CONTAINER.fullmatch(key[2:].decode("utf-8", "replace")) is not None


def _names(value: Source) -> Iterator[tuple[str, int]]:
    """Names and lengths; the content behind each has to be taken before the next.

    Names that lead elsewhere are refused.
    """
    while (first := value.some(1)) != b"":
        name = _text(value, first)
        length = _text(value, value.exactly(1))
        if not name or "/" in name or "\x00" in name or name in (".", ".."):
            raise BadTFile("the name of a log is no name of a file")
        if not length.isascii() or not length.isdigit() or len(length) > 18:
            raise BadTFile("the length of a log is no number")
        yield name, int(length)


def _text(source: Source, first: bytes) -> str:
    """``DataOutput.writeUTF``: two bytes of length; Java's own spelling of NUL and of characters
    beyond 16 bits becomes U+FFFD.
    """
    return source.exactly(int.from_bytes(first + source.exactly(1), "big")).decode(
        "utf-8", "replace"
    )


def _drop(source: Source, count: int) -> None:
    while count:
        piece = source.some(min(count, PIECE_BYTES))
        if not piece:
            raise BadTFile("a log ends before its time; was the file copied whole?")
        count -= len(piece)
