import os
from collections.abc import Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from enum import Enum
from typing import Any, NamedTuple, Protocol

import fsspec

from ingest import beneath
from ingest.local_directories import NotAllowed, refusal_of_tree
from ingest.network.unopened import as_os_error
from ingest.storage.instants import cut, from_nanoseconds, modified_at
from ingest.uris import canonical

MOST_COPIES = 512
KEYS_A_PAGE = 1000


class Kind(Enum):
    FILE = "file"
    DIRECTORY = "directory"
    LINK = "link"


class Entry(NamedTuple):
    """``name``: as the file system spells it. ``target``: where a link leads. ``replication``:
    copies of each block.
    """

    name: str
    kind: Kind
    bytes: int = 0
    modified: datetime | None = None
    target: str | None = None
    replication: int | None = None


class Directories(Protocol):
    def entries(self, below: str) -> Iterator[Entry]:
        """Entries of a directory. ``below``: its path relative to the root, "" or with a leading
        slash. Raises ``OSError``.
        """

    def identity(self, below: str) -> Hashable:
        """Equal for two names of one directory, as far as can be known. Raises ``OSError``."""


def directories(reading: str) -> Directories:
    """Directories of the tree at a local path or an fsspec URI. Raises ``OSError``, ``ValueError``
    or ``ImportError`` if the tree cannot be reached.
    """
    if refused := refusal_of_tree(reading):
        raise NotAllowed(refused)
    if "://" not in reading:
        return Local(reading)
    with as_os_error():
        filesystem, path = fsspec.core.url_to_fs(reading, use_listings_cache=False)
    # The file system's spelling may lack the authority.
    uri = canonical(reading).rstrip("/")
    if hasattr(filesystem, "call_s3"):
        return S3(filesystem, path, uri)
    return Listable(filesystem, path, uri)


class Local:
    """Follows no link below the root, even if one appears meanwhile."""

    def __init__(self, path: str) -> None:
        self._path = path.rstrip("/")

    def entries(self, below: str) -> Iterator[Entry]:
        path = f"{self._path}{below}"
        with self._open(below) as descriptor, os.scandir(descriptor) as entries:
            for entry in entries:
                if entry.is_symlink():
                    target = os.path.realpath(f"{path}/{entry.name}")
                    yield Entry(entry.name, Kind.LINK, target=target)
                elif entry.is_dir(follow_symlinks=False):
                    yield Entry(entry.name, Kind.DIRECTORY)
                elif entry.is_file(follow_symlinks=False):
                    try:
                        stat = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue
                    yield Entry(
                        entry.name, Kind.FILE, stat.st_size, from_nanoseconds(stat.st_mtime_ns)
                    )

    def identity(self, below: str) -> Hashable:
        with self._traverse(below) as descriptor:
            status = os.fstat(descriptor)
        return status.st_dev, status.st_ino

    @contextmanager
    def _open(self, below: str) -> Iterator[int]:
        with self._traverse(below) as traversed:
            descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=traversed)
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    def _traverse(self, below: str) -> AbstractContextManager[int]:
        return beneath.open_folder(self._path or "/", beneath.names_below("/", below or "/"))


class Listable:
    """Lists by directory, in which HDFS allows a million entries; WebHDFS by page."""

    def __init__(self, filesystem: Any, path: str, uri: str) -> None:
        self._filesystem, self._uri = filesystem, uri
        self._path = path.rstrip("/")

    def entries(self, below: str) -> Iterator[Entry]:
        path = f"{self._path}{below}" or "/"
        pages = getattr(self._filesystem, "pages", None)
        with as_os_error():
            infos = self._filesystem.ls(path, detail=True) if pages is None else pages(path)
        for info in infos:
            name = str(info["name"]).rstrip("/").rpartition("/")[2]
            if info.get("type") == "directory":
                yield Entry(name, Kind.DIRECTORY)
            elif info.get("islink") or info.get("type") == "link":
                yield Entry(name, Kind.LINK)
            elif str(info["name"]).rstrip("/") == path.rstrip("/"):
                raise NotADirectoryError("it is a file")
            elif info.get("type") == "file":
                copies = info.get("replication")  # of WebHDFS
                replication = copies if type(copies) is int and 0 < copies <= MOST_COPIES else None
                size, modified = int(info.get("size") or 0), cut(modified_at(info))
                yield Entry(name, Kind.FILE, size, modified, replication=replication)

    def identity(self, below: str) -> Hashable:
        return self._uri + below


class S3(Listable):
    """Lists a thousand keys at a time: fsspec would hold a whole directory, with perhaps millions."""

    def entries(self, below: str) -> Iterator[Entry]:
        # An empty name between two slashes is an ordinary directory, since keys are plain text.
        bucket, _, top = self._path.partition("/")
        prefix = f"{top}{below}/" if top else f"{below}/".removeprefix("/")
        query: dict[str, Any] = {
            "Bucket": bucket,
            "Prefix": prefix,
            "Delimiter": "/",
            "MaxKeys": KEYS_A_PAGE,
        }
        has_objects = False
        while True:
            with as_os_error():
                page = self._filesystem.call_s3("list_objects_v2", **query)
            for common in page.get("CommonPrefixes", ()):
                has_objects = True
                yield Entry(common["Prefix"][len(prefix) : -1], Kind.DIRECTORY)
            for key in page.get("Contents", ()):
                has_objects = True
                if key["Key"] != prefix:
                    name, size = key["Key"][len(prefix) :], int(key["Size"])
                    yield Entry(name, Kind.FILE, size, cut(modified_at(key)))
            if not page.get("IsTruncated"):
                break
            query["ContinuationToken"] = page["NextContinuationToken"]
        if not has_objects and not below:
            raise FileNotFoundError("no object has this prefix")
