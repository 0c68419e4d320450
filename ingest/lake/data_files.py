"""How Arrow reads the data files of a table. Arrow's threads may read ahead when the process ends,
so the process waits until they no longer call Python.
"""

import atexit
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import DeltaTable
from deltalake.fs import DeltaStorageHandler
from pyarrow import fs

from ingest.messages import count_text

WAITS_S = 10.0
"""Longest wait when a process ends: a hanging storage must not block it."""
QUIET_S = 0.1
"""After so long without a call to Python, the threads have nothing left to read."""


def dataset(
    table: DeltaTable,
    folder: Path | None,
    storage_options: Mapping[str, str],
    condition: pc.Expression,
) -> ds.Dataset:
    sizes = table._table.get_add_file_sizes()
    if folder is None:
        return table.to_pyarrow_dataset(
            filesystem=fs.PyFileSystem(
                _Storage.from_table(table._table, dict(storage_options) or None, sizes)
            )
        )
    rows = table.to_pyarrow_dataset(
        filesystem=fs.SubTreeFileSystem(str(folder.absolute()), fs.LocalFileSystem())
    )
    for fragment in rows.get_fragments(filter=condition):
        # A file that was replaced may be readable, but with other columns.
        if (size := (folder / fragment.path).stat().st_size) != sizes[fragment.path]:
            raise pa.ArrowInvalid(
                f"{fragment.path} has {count_text(size, 'byte')}, and {sizes[fragment.path]:,} "
                "were written"
            )
    return rows


class _Storage(DeltaStorageHandler):
    def open_input_file(self, path: str) -> pa.PythonFile:
        with _calls:
            return pa.PythonFile(_File(self._handler.open_input_file(path)), mode="r")


class _CallCounter:
    def __init__(self) -> None:
        # Garbage collection may release a file while this lock is held.
        self._lock = threading.RLock()
        self._count, self._last = 0, 0.0
        atexit.register(self.wait)

    def __enter__(self) -> None:
        self._add(1)

    def __exit__(self, *_raised: object) -> None:
        self._add(-1)

    def wait(self) -> None:
        give_up_at = time.monotonic() + WAITS_S
        while (now := time.monotonic()) < give_up_at and (
            self._count or now - self._last < QUIET_S
        ):
            time.sleep(QUIET_S / 5)

    def _add(self, number: int) -> None:
        with self._lock:
            self._count += number
            self._last = time.monotonic()


_calls = _CallCounter()


class _File:
    def __init__(self, file: Any) -> None:
        self._file = file

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._file, name)
        return partial(_call_counted, value) if callable(value) else value

    def __del__(self) -> None:
        with _calls:
            del self._file


def _call_counted(method: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    with _calls:
        return method(*arguments, **keywords)
