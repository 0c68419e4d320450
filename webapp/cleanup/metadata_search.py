"""Every ``_metadata`` below a root, without listing the data beside it: a look that costs as many calls as there are checkpoints."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import fsspec

from ingest.metadata.files import MetadataFile
from ingest.network.uris import spelled_as
from ingest.storage.instants import modified_at
from ingest.storage.layout import METADATA_NAME
from ingest.storage.roots import Root

_JOB = re.compile(r"[0-9a-f]{32}")
_SNAPSHOT = re.compile(r"chk-\d+|savepoint-[0-9a-f]{6}-[0-9a-f]{12}")
_DATA_OF_A_JOB = frozenset({"shared", "taskowned", "dstl"})


def metadata_below(roots: Sequence[Root]) -> Iterator[MetadataFile]:
    """By canonical path, with where to read it. A root that is not there has none. Raises ``OSError`` for what cannot be listed."""
    for root in roots:
        filesystem, start = fsspec.core.url_to_fs(root.reading)
        filesystem.invalidate_cache()
        pending = [(start.rstrip("/"), False)]
        while pending:
            folder, is_job = pending.pop()
            for entry in _entries(filesystem, folder):
                name = entry["name"].rstrip("/").rpartition("/")[2]
                if name == METADATA_NAME and entry["type"] == "file":
                    yield _file(filesystem, root, entry)
                elif entry["type"] != "directory" or entry.get("islink") or (is_job and name in _DATA_OF_A_JOB):
                    continue
                elif _SNAPSHOT.fullmatch(name):
                    yield from _of_snapshot(filesystem, root, entry["name"].rstrip("/"))
                else:
                    pending.append((entry["name"].rstrip("/"), bool(_JOB.fullmatch(name))))


def _of_snapshot(filesystem: Any, root: Root, folder: str) -> Iterator[MetadataFile]:
    try:
        yield _file(filesystem, root, filesystem.info(f"{folder}/{METADATA_NAME}"))
    except FileNotFoundError:
        return


def _entries(filesystem: Any, folder: str) -> list[dict[str, Any]]:
    try:
        found: list[dict[str, Any]] = filesystem.ls(folder, detail=True)
    except FileNotFoundError:
        return []
    return found


def _file(filesystem: Any, root: Root, entry: dict[str, Any]) -> MetadataFile:
    read_at = entry["name"] if "://" not in root.reading else spelled_as(root.reading, filesystem, entry["name"])
    return MetadataFile(root.canonical(read_at), entry.get("size"), modified_at(entry), read_at=read_at)
