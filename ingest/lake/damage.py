import contextlib
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from ingest.errors import Refused
from ingest.lake.tables import Table
from ingest.messages import message

MAX_FILES_CHECKED = 5_000
_REASON_CHARS = 200


class LakeDamaged(Refused):
    pass


@contextlib.contextmanager
def readable_errors(
    table: Table, uri: str, folder: Path | None, in_files: Callable[[], str] = str
) -> Iterator[None]:
    """Turns errors of the Delta and Parquet libraries into ``LakeDamaged``. ``in_files`` returns
    what is wrong with the table's data files, "" for nothing.
    """
    try:
        yield
    except (CommitFailedError, TableNotFoundError):
        raise
    except (DeltaError, pa.ArrowException, OSError) as error:
        why = in_files() or _damage_in_log(folder)
        if not why and isinstance(error, OSError):
            raise  # a full disk or an unreachable storage is no damage; its message says enough
        raise damaged(table, uri, why or _first_line(error)) from error


def damaged(table: Table, uri: str, why: str) -> LakeDamaged:
    return LakeDamaged(
        message(
            "Lake table {name:name} at {uri:name} cannot be used: {why:name}. Restore it from "
            "a copy, or move its folder away and run manage.py run_pipeline --from-start; the "
            "other tables are not affected.",
            name=table.name,
            uri=uri,
            why=why,
        )
    )


def broken_file(table: Table, paths: Iterable[Path]) -> str:
    """What is wrong with the first unreadable file; "" if there is none."""
    for path, _ in zip(paths, range(MAX_FILES_CHECKED), strict=False):
        try:
            names = set(pq.read_schema(path).names)
        except FileNotFoundError:
            return f"{path} is missing"
        except (pa.ArrowException, OSError) as error:
            return f"{path} is damaged ({_first_line(error)})"
        if not set(table.identity) <= names | {"date"}:
            return f"{path} has different columns than this table"
    return ""


def _damage_in_log(folder: Path | None) -> str:
    log = folder / "_delta_log" if folder else None
    if log is None or not log.exists():
        return ""
    if not log.is_dir():
        return f"{log} is not a directory"
    entries = sorted(path for path in log.glob("*.json") if path.stem.isdigit())[
        -MAX_FILES_CHECKED:
    ]
    for before, entry in zip([None, *entries], entries, strict=False):
        if before is not None and int(entry.stem) != int(before.stem) + 1:
            return f"{log} lacks the entry after {before.name}"
        try:
            for line in entry.read_bytes().splitlines():
                json.loads(line)
        except (OSError, ValueError, RecursionError):
            return f"{entry} is damaged"
    return ""


def _first_line(error: BaseException) -> str:
    line = next(
        (line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__
    )
    return line.rstrip(".")[:_REASON_CHARS]
