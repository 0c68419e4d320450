"""A NameNode's heap for files and blocks, by Cloudera's rule of thumb ("Disk space versus
namespace"): about 150 bytes for each object.
"""

from dataclasses import dataclass

from spark_jobs.filesystem_calls.calls import BLOCK_BYTES

OBJECT_BYTES = 150


@dataclass(frozen=True, slots=True)
class Namespace:
    """``blocks`` is an upper bound, since the size of each file is unknown."""

    files: int
    size_bytes: int

    @property
    def blocks(self) -> int:
        return self.files + self.size_bytes // BLOCK_BYTES

    @property
    def objects(self) -> int:
        return self.files + self.blocks

    @property
    def heap_bytes(self) -> int:
        return self.objects * OBJECT_BYTES


def small_heap_bytes(files: int) -> int:
    """Heap for ``files`` files of one block each."""
    return 2 * files * OBJECT_BYTES
