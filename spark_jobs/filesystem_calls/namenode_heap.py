"""A NameNode's heap for files and blocks, by Cloudera's rules of thumb ("Disk space versus
namespace"): objects of about 150 bytes, and 1 GB of heap for every million blocks.
"""

from dataclasses import dataclass

from spark_jobs.filesystem_calls.calls import BLOCK_BYTES

OBJECT_BYTES = 150
SIZED_BLOCK_BYTES = 1_000


@dataclass(frozen=True, slots=True)
class Namespace:
    """``blocks``: an upper bound, since the single sizes are unknown."""

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
