"""A file identified by its name alone: Flink's are UUIDs, given once, so that one of them means one
file below whatever directory.

A reference to a file under another name of its directory (another mount, another authority, other
upper and lower case) is found by it. A ``_metadata``, whose name says nothing, is identified by the
directories of its checkpoint and job as well.
"""

import re

import pyarrow as pa
import pyarrow.compute as pc

_OF_JOB = re.compile(r".*/([0-9a-f]{32}/.+)\Z", re.DOTALL)


def names_of(paths: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """``name_of`` of a column."""
    last = pc.replace_substring_regex(paths, r"(?s)^.*/", "")
    metadata = pc.equal(last, "_metadata")
    if pc.any(metadata).as_py():
        last = pc.if_else(
            metadata,
            pc.replace_substring_regex(paths, r"(?s)^.*/([^/]*/[^/]*/_metadata)$", r"\1"),
            last,
        )
    return pc.utf8_lower(last)


def name_of(path: str) -> str:
    """Of a canonical path."""
    last = path.rpartition("/")[2]
    return ("/".join(path.split("/")[-3:]) if last == "_metadata" else last).lower()


def below_job(folder: str) -> str:
    """A folder from the directory of its job on, the last of that form; the whole of it where it
    has none.
    """
    match = _OF_JOB.search(folder.lower())
    return match[1] if match else folder.lower()
