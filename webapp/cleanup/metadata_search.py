"""Finds every ``_metadata`` below a root with one call for each checkpoint, without listing data
files.
"""

import re
from collections.abc import Iterator, Sequence

from ingest.metadata.files import MetadataFile
from ingest.storage import tree
from ingest.storage.directories import Directories, Entry, Kind, directories
from ingest.storage.layout import METADATA_NAME
from ingest.storage.roots import Root

_JOB = re.compile(r"[0-9a-f]{32}")
_CHECKPOINT = re.compile(r"chk-\d+")
_SAVEPOINT = re.compile(r"savepoint-[0-9a-f]{6}-[0-9a-f]{12}")
_DATA_OF_A_JOB = frozenset({"shared", "taskowned", "dstl"})


def metadata_below(roots: Sequence[Root]) -> Iterator[MetadataFile]:
    """All ``_metadata`` below the roots; missing roots are skipped. Raises ``OSError`` if a
    directory cannot be listed. Links to directories are not followed; audits have doubts about
    them. A ``_metadata`` that is a link is readable only if it leads to a file below its root.
    """
    for root in roots:
        listable = directories(root.reading)
        pending = [("", False)]
        while pending:
            folder, is_job = pending.pop()
            for entry in _entries(listable, folder):
                suffix = f"{folder}/{entry.name}"
                if entry.name == METADATA_NAME and entry.kind is not Kind.DIRECTORY:
                    yield _file(root, suffix, entry)
                elif entry.kind is not Kind.DIRECTORY or (is_job and entry.name in _DATA_OF_A_JOB):
                    continue
                elif _SAVEPOINT.fullmatch(entry.name) or (
                    is_job and _CHECKPOINT.fullmatch(entry.name)
                ):
                    yield from _snapshot_metadata(root, suffix)
                else:
                    pending.append((suffix, bool(_JOB.fullmatch(entry.name))))


def _snapshot_metadata(root: Root, folder: str) -> Iterator[MetadataFile]:
    suffix = f"{folder}/{METADATA_NAME}"
    try:
        status = tree.stat(f"{root.reading.rstrip('/')}{suffix}", root.reading)
    except tree.Gone:
        return
    except tree.NotAFile:
        yield _file(root, suffix, Entry(METADATA_NAME, Kind.LINK))
    else:
        yield _file(root, suffix, Entry(METADATA_NAME, Kind.FILE, status.bytes, status.modified))


def _entries(listable: Directories, folder: str) -> list[Entry]:
    try:
        return list(listable.entries(folder))
    except FileNotFoundError:
        return []


def _file(root: Root, suffix: str, entry: Entry) -> MetadataFile:
    read_at = f"{root.reading.rstrip('/')}{suffix}"
    size, modified = (entry.bytes, entry.modified) if entry.kind is Kind.FILE else (None, None)
    return MetadataFile(root.canonical(read_at), size, modified, read_at, root.reading)
