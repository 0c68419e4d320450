"""Whether a job was restored from a savepoint: by the directory's name, else the type in its
``_metadata``. Flink calls every snapshot that a job does not claim a savepoint.
"""

import re
from collections.abc import Iterable, Mapping

from spark_jobs.fold.rows import Rows

_DIRECTORY = re.compile(r"/(?:(?P<checkpoint>chk-\d+)|savepoint-[^/]+)$")
_METADATA = re.compile(r"/+(_metadata)?/*$")
_LOCAL = re.compile(r"^(file:)?/+")
_S3 = re.compile(r"^s3[anp]://")

Types = Mapping[str, bool]
"""Directory → whether the ``_metadata`` in it is of a savepoint."""
NO_TYPES: Types = {}


def directory_of(path: str | None) -> str | None:
    """The directory of a snapshot or its ``_metadata``, spelled as in ``ingest.uris``."""
    if not path:
        return None
    return _S3.sub("s3://", _LOCAL.sub("file:/", _METADATA.sub("", path)))


def is_savepoint(path: str | None, reported: bool | None, types: Types) -> bool | None:
    """``reported``: Flink's word. If the directory is unknown, only False is reliable."""
    directory = directory_of(path)
    if directory is None:
        return False if reported is False else None
    match = _DIRECTORY.search(directory)
    return types.get(directory) if match is None else match["checkpoint"] is None


def types_of(snapshots: Rows) -> Types:
    known = [
        (row["observed_at"], row["is_savepoint"], row["metadata_path"])
        for row in snapshots
        if row["is_savepoint"] is not None
    ]
    return {directory_of(path) or "": kind for _, kind, path in sorted(known)}


def untyped(restored: Iterable[str | None]) -> set[str]:
    """Directories whose names do not tell the snapshot's type."""
    directories = {directory for path in restored if (directory := directory_of(path))}
    return {directory for directory in directories if not _DIRECTORY.search(directory)}
