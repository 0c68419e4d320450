from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq


class ParquetStream(pq.ParquetFile):  # type: ignore[misc]  # no types
    """Reads a file that Python opened, in the calling thread.

    ``checks_pages`` verifies checksums of pages, if there are any. Text columns in ``encoded`` stay
    dictionary-encoded: a repeated long text is in memory once.
    """

    def __init__(
        self,
        source: IO[bytes] | pa.NativeFile,
        *,
        checks_pages: bool = False,
        encoded: Sequence[str] = (),
    ) -> None:
        super().__init__(
            source,
            pre_buffer=False,
            page_checksum_verification=checks_pages,
            read_dictionary=list(encoded),
        )

    def read(self, columns: list[str] | None = None) -> pa.Table:
        return super().read(columns, use_threads=False)

    def read_row_group(self, number: int) -> pa.Table:
        return super().read_row_group(number, use_threads=False)

    def iter_batches(
        self,
        batch_size: int = 65_536,
        row_groups: list[int] | None = None,
        columns: list[str] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        yield from super().iter_batches(batch_size, row_groups, columns, use_threads=False)


@contextmanager
def open_parquet(uri: str, *, checks_pages: bool = False) -> Iterator[ParquetStream]:
    """``uri``: by path, Arrow would read the parent folders as partition columns."""
    with fsspec.open(uri, "rb") as file, ParquetStream(file, checks_pages=checks_pages) as parquet:
        yield parquet
