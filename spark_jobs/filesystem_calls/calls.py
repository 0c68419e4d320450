"""Calls to a NameNode for one checkpoint, as Flink's HDFS file system makes them since 1.20: to
write it, and to delete it after it is subsumed. They are counted by method of HDFS's client
protocol.
"""

from collections.abc import Mapping

BLOCK_BYTES = 128 << 20
"""The default of ``dfs.blocksize``."""
CALLS_OF_FILE: Mapping[str, int] = {
    "create": 1, "addBlock": 1, "fsync": 1, "complete": 1, "delete": 1,
}  # fmt: skip
CALLS_BESIDE_FILES: Mapping[str, int] = {"mkdirs": 1, "getFileInfo": 3, "rename": 1, "delete": 1}
"""Calls for the directory, and for ``_metadata``, which is first written under another name."""


def calls_of_files(files: float) -> float:
    """Calls for a checkpoint of ``files`` files of one block each, and its ``_metadata``."""
    return sum(CALLS_BESIDE_FILES.values()) + (files + 1) * sum(CALLS_OF_FILE.values())
