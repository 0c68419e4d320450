"""Calls to a NameNode for one checkpoint, as Flink's HDFS file system makes them since 1.20: when
it is written, and when it is deleted after being subsumed. Keys: HDFS's client protocol.
"""

from collections.abc import Mapping

BLOCK_BYTES = 128 << 20
"""``dfs.blocksize`` if nobody set it."""
CALLS_OF_FILE: Mapping[str, int] = {
    "create": 1, "addBlock": 1, "fsync": 1, "complete": 1, "delete": 1,
}  # fmt: skip
CALLS_BESIDE_FILES: Mapping[str, int] = {"mkdirs": 1, "getFileInfo": 3, "rename": 1, "delete": 1}
"""For the directory, and for ``_metadata``, which is written under another name first."""


def calls_of_files(files: float) -> float:
    """Calls for a checkpoint of so many files, each of one block, beside its ``_metadata``."""
    return sum(CALLS_BESIDE_FILES.values()) + (files + 1) * sum(CALLS_OF_FILE.values())
