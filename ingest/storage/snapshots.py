"""A listing on disk: Parquet parts, and ``_listed.json``, which is written last: without it, the
listing is not finished.
"""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Self

import fsspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ingest.errors import Refused
from ingest.records import Skip
from ingest.storage.roots import Root, local_path
from ingest.uris import canonical, is_below

LINK = "link"
SECOND_NAME = "second_name"
BAD_NAME = "bad_name"


@dataclass(frozen=True, slots=True)
class Unlisted(Skip):
    """``other``: canonical target of a link, or the other name of a directory; else ""."""

    other: str = ""


def named_in(roots: Iterable[Root], other: str) -> str:
    """The target ``other`` of a link, as a URI of its root, which may be read elsewhere. Empty if
    the target contains a root.
    """
    for root in roots:
        places = {root.uri, canonical(root.reading)}
        if "://" not in root.reading:
            places.add(canonical(os.path.realpath(root.reading)))
        for place in places:
            if is_below(place, other) and place != other:
                return ""
            if is_below(other, place):
                return root.uri.rstrip("/") + other[len(place.rstrip("/")) :]
    return other


INSTANT = pa.timestamp("ms", tz="UTC")
SCHEMA = pa.schema(
    [
        pa.field("root", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("listed_path", pa.string(), nullable=False),
        pa.field("bytes", pa.int64(), nullable=False),
        pa.field("modified", INSTANT),
        pa.field("replication", pa.int64()),
    ]
)
"""``path`` is canonical; ``listed_path`` is for opening the file. ``modified`` and ``replication``
(copies of each block in HDFS) are null if unknown.
"""

LISTED, BEGUN = "_listed.json", "_begun.json"
_PROGRESS = b"weir.listing"
_PUT_AT_ONCE = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "az", "memory"})


@dataclass(frozen=True, slots=True)
class Listed:
    root: str
    read_at: str | None
    directory: str
    files: int
    bytes: int
    unlisted: tuple[Unlisted, ...]
    as_of: datetime


@dataclass(slots=True)
class Progress:
    """What a part covers. ``directories`` are finished, ``found`` are their subdirectories: both
    relative to the root, with leading slash.
    """

    directories: list[str] = field(default_factory=list)
    found: list[str] = field(default_factory=list)
    unlisted: list[Unlisted] = field(default_factory=list)
    files: int = 0
    bytes: int = 0


class Snapshot:
    def __init__(self, directory: str) -> None:
        self.directory = directory
        self._filesystem, self._path = fsspec.core.url_to_fs(
            local_path(directory), use_listings_cache=False
        )
        protocol = self._filesystem.protocol
        self._put_at_once = (protocol if isinstance(protocol, str) else protocol[0]) in _PUT_AT_ONCE

    def begin(self, settings: dict[str, Any]) -> None:
        if self._filesystem.exists(self._path):
            if not all(name.startswith(("part-", "_", ".")) for name in self._names()):
                raise Refused(
                    f"{self.directory} holds other files than a listing; give an empty directory."
                )
            self._filesystem.rm(self._path, recursive=True)
        self._filesystem.makedirs(self._path, exist_ok=True)
        self.write_json(BEGUN, settings)

    def parts(self) -> Iterator[tuple[str, Progress]]:
        for name in self._names():
            if name.startswith("part-") and name.endswith(".parquet"):
                with self._filesystem.open(f"{self._path}/{name}", "rb") as stream:
                    document = json.loads((pq.read_metadata(stream).metadata or {})[_PROGRESS])
                document["unlisted"] = [Unlisted(**skip) for skip in document["unlisted"]]
                yield name, Progress(**document)

    def listed(self) -> Listed | None:
        document = self.read_json(LISTED)
        if document is None:
            return None
        document["unlisted"] = tuple(Unlisted(**skip) for skip in document["unlisted"])
        document["as_of"] = datetime.fromisoformat(document["as_of"])
        return Listed(directory=self.directory, **document)

    def finish(
        self, root: str, read_at: str | None, as_of: datetime, parts: Iterable[Progress]
    ) -> Listed:
        files = total = 0
        unlisted: list[Unlisted] = []
        for part in parts:
            files, total = files + part.files, total + part.bytes
            unlisted += part.unlisted
        for name in self._names():
            if name.startswith("."):
                # A killed process left this file.
                self._filesystem.rm_file(f"{self._path}/{name}")
        listed = Listed(root, read_at, self.directory, files, total, tuple(unlisted), as_of)
        document = asdict(listed) | {"as_of": as_of.isoformat()}
        del document["directory"]
        self.write_json(LISTED, document)
        return listed

    def read_json(self, name: str) -> dict[str, Any] | None:
        try:
            with self._filesystem.open(f"{self._path}/{name}", "rb") as stream:
                content: dict[str, Any] = json.loads(stream.read())
                return content
        except FileNotFoundError:
            return None

    def write_json(self, name: str, content: dict[str, Any]) -> None:
        with self.create(name) as stream:
            stream.write(json.dumps(content, ensure_ascii=False, indent=1).encode())

    @contextmanager
    def create(self, name: str) -> Iterator[Any]:
        target = f"{self._path}/{name}"
        path = target if self._put_at_once else f"{self._path}/.{name}.writing"
        stream = self._filesystem.open(path, "wb")
        try:
            yield stream
        except BaseException:
            discard = getattr(stream, "discard", None) if self._put_at_once else None
            (discard or stream.close)()
            raise
        stream.close()
        if path != target:
            self._filesystem.mv(path, target)

    def _names(self) -> list[str]:
        return sorted(
            str(name).rstrip("/").rpartition("/")[2]
            for name in self._filesystem.ls(self._path, detail=False)
        )


class Part:
    def __init__(self, snapshot: Snapshot, name: str) -> None:
        self._file = snapshot.create(name)
        self._writer = pq.ParquetWriter(self._file.__enter__(), SCHEMA, compression="zstd")
        self.progress = Progress()

    def write(self, batch: pa.RecordBatch) -> None:
        self.progress.files += batch.num_rows
        self.progress.bytes += pc.sum(batch.column("bytes")).as_py() or 0
        self._writer.write_batch(batch)

    def close(self) -> Progress:
        self._writer.add_key_value_metadata({_PROGRESS: json.dumps(asdict(self.progress)).encode()})
        self._writer.close()
        self._file.__exit__(None, None, None)
        return self.progress

    def abandon(self) -> None:
        error = RuntimeError("abandoned")
        with suppress(OSError, ValueError):
            self._writer.close()
        self._file.__exit__(type(error), error, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()
