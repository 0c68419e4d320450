"""Calls to a NameNode for one checkpoint: when it is written, and when it is deleted after being
subsumed.
"""

from dataclasses import dataclass, fields

import numpy as np

from spark_jobs.filesystem_calls.checkpoint_files import Numbers

BLOCK_BYTES = 128 << 20
"""``dfs.blocksize`` if nobody set it."""
_PLAINLY, _SAFELY = (1, 12), (1, 20)
_LOOKED_AT = 3


@dataclass(frozen=True)
class Calls:
    """Calls by kind, in the names of HDFS's client protocol.

    ``fsync``: a flush that makes new blocks known.
    """

    create: int = 0
    add_block: int = 0
    fsync: int = 0
    complete: int = 0
    rename: int = 0
    delete: int = 0
    get_file_info: int = 0
    mkdirs: int = 0
    get_listing: int = 0

    @property
    def total(self) -> int:
        return sum(getattr(self, kind) for kind in KINDS)

    def __add__(self, other: "Calls") -> "Calls":
        return Calls(*(getattr(self, kind) + getattr(other, kind) for kind in KINDS))


KINDS = tuple(field.name for field in fields(Calls))


def ways_to_write(release: tuple[int, ...] | None) -> tuple[bool, bool]:
    """(least, most) for ``safely``: whether files are flushed and ``_metadata`` is moved into
    place. Measured with 1.12, 1.20 and 2.3.
    """
    return (release or _PLAINLY)[:2] >= _SAFELY, (release or _SAFELY)[:2] > _PLAINLY


def calls_to_write(file_bytes: Numbers, metadata_bytes: int, *, safely: bool = True) -> Calls:
    """``file_bytes``: of each file that the checkpoint writes beside its ``_metadata``. ``safely``:
    each is flushed before closing, and ``_metadata`` is first written under another name.
    """
    written = np.append(file_bytes, metadata_bytes)
    files = len(written)
    return Calls(
        create=files,
        add_block=int((-(-written // BLOCK_BYTES)).sum()),
        fsync=int((written > 0).sum()) if safely else 0,
        complete=files,
        rename=int(safely),
        get_file_info=_LOOKED_AT if safely else 0,
        mkdirs=1,
    )


def calls_to_delete(files: int, again: int = 0) -> Calls:
    """Calls to delete the files that it wrote. ``again``: files that another subtask also refers
    to, which cost a second delete and a check.
    """
    return Calls(delete=files + 2 + again, get_file_info=again)


def calls_of_files(files: float) -> float:
    """Calls for a checkpoint of so many files, written as since 1.20. Their sizes are unknown, so
    each is taken to have one block.
    """
    none, for_one_file = (
        calls_to_write(np.ones(n, np.int64), 1).total + calls_to_delete(n).total for n in (0, 1)
    )
    return none + files * (for_one_file - none)
