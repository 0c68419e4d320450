"""Heap of a NameNode that files and blocks take, by rules of thumb of Cloudera ("Disk space versus
namespace"): objects of about 150 bytes, and 1 GB of heap for every million blocks.
"""

from dataclasses import dataclass

from spark_jobs.filesystem_calls.calls import BLOCK_BYTES

OBJECT_BYTES = 150
SIZED_BLOCK_BYTES = 1_000


@dataclass(frozen=True, slots=True)
class Namespace:
    """Of files with so many bytes in all. ``blocks``: at most, as the size of each is not known."""

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

    @property
    def sized_heap_bytes(self) -> int:
        return self.blocks * SIZED_BLOCK_BYTES


def small_heap_bytes(files: int) -> int:
    return 2 * files * OBJECT_BYTES
