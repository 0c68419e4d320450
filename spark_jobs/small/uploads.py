"""What checkpoints uploaded, over plain rows; what :mod:`spark_jobs.transforms.uploads` gives, where the rules stand."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from spark_jobs.small.rows import Row

SST = ".sst"
OF_SNAPSHOT = ("cluster", "metadata_path", "ordinal", "observed_at", "metadata_bytes", "metadata_modified", "reader_version",
               "path", "local_name", "operator_id", "subtask", "kind", "offset_bytes", "size_bytes")  # fmt: skip
"""Columns of ``references`` that are read."""
_VERSION = ("metadata_bytes", "metadata_modified", "reader_version")
_LARGEST = 2**63 - 1

Snapshot = tuple[str, str]
"""Cluster and directory."""
Files = dict[tuple[Any, ...], tuple[str, int | None]]
"""Operator, subtask, kind and local name → which file, and its bytes."""


def of_files(compared: Iterable[Row], references: Iterable[Row]) -> list[Row]:
    """Of comparisons (:mod:`spark_jobs.fold.comparisons`) those of which either snapshot is among ``references``, each once."""
    read = {_snapshot(row) for row in references if row["ordinal"] == 0}
    found = [row for row in compared if {(row["cluster"], row["directory"]), (row["cluster"], row["compared_with"])} & read]
    return list({tuple(row.values()): row for row in found}.values())


def uploads(compared: Iterable[Row], references: Sequence[Row]) -> list[Row]:
    """Rows of ``checkpoint_upload`` for the comparisons of which both snapshots were read, the same files perhaps several times."""
    of_snapshots: dict[Snapshot, list[Row]] = defaultdict(list)
    for row in references:
        of_snapshots[_snapshot(row)].append(row)
    read = {snapshot: version for snapshot, rows in of_snapshots.items() if (version := _version_read(rows))}
    found = []
    for row in compared:
        mine, theirs = (row["cluster"], row["directory"]), (row["cluster"], row["compared_with"])
        if mine in read and theirs in read:
            files = (_files(of_snapshots[one], read[one][0]) for one in (mine, theirs))
            bytes_by_kind = _bytes(*files)
            known = max(read[mine][1], read[theirs][1])
            names = ("cluster", "job_id", "checkpoint_id", "trigger_time", "compared_with")
            found.append({name: row[name] for name in names} | bytes_by_kind | {"as_of": known})
    return found


def _snapshot(row: Row) -> Snapshot:
    return row["cluster"], row["metadata_path"].removesuffix("/_metadata")


def _version_read(rows: Iterable[Row]) -> tuple[tuple[Any, ...], Any] | None:
    """The newest version of the file that was read to its end, and when it first was."""
    seen: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for row in rows:
        if row["ordinal"] == 0:
            seen[tuple(row[name] for name in _VERSION)].append(row["observed_at"])
    if not seen:
        return None
    newest = max(seen, key=lambda one: (max(seen[one]), tuple((part is not None, part) for part in one), min(seen[one])))
    return newest, min(seen[newest])


def _files(rows: Iterable[Row], version: tuple[Any, ...]) -> Files:
    """RocksDB files of a version. File names in a checkpoint directory are random, so the name says which file it is."""
    found: Files = {}
    for row in rows:
        is_file = row["path"] is not None and (row["local_name"] or "").endswith(SST)
        if is_file and tuple(row[name] for name in _VERSION) == version:
            file = row["path"].rsplit("/", 1)[-1] + ("" if row["offset_bytes"] is None else f"@{row['offset_bytes']}")
            name = (row["operator_id"], row["subtask"], row["kind"], row["local_name"])
            before, size = found.get(name, (file, None))
            found[name] = max(file, before), max((one for one in (size, row["size_bytes"]) if one is not None), default=None)
    return found


def _bytes(mine: Files, theirs: Files) -> dict[str, int]:
    reported = {"kept_bytes": 0, "same_name_bytes": 0, "new_name_bytes": 0}
    for name, (file, size) in mine.items():
        their_file, their_size = theirs.get(name, (None, None)) if None not in name else (None, None)
        if size is None or (their_file is not None and their_size is None):
            continue
        # Of equal numbers in a RocksDB that was built anew, the size tells that they are different files.
        same = their_file is not None and size == their_size
        reported["kept_bytes" if same and file == their_file else "same_name_bytes" if same else "new_name_bytes"] += size
    return {name: total if total <= _LARGEST else 0 for name, total in reported.items()}
