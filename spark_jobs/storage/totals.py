"""Counts and bytes of an audit: all are sums of a small cube, made in one pass."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.arrow_schemas import schema
from spark_jobs.storage import arrays
from spark_jobs.storage.arrays import column, numbers_of
from spark_jobs.storage.layout_columns import is_metadata
from spark_jobs.storage.owners import JOB_DIRECTORY
from spark_jobs.storage.plain import Key, Row, RowList, Rows, as_json, by, key_of, largest
from spark_jobs.storage.reference_sums import REACHED
from spark_jobs.storage_words import TWO_NAMES, VERDICTS

SMALL_FILE_BYTES = 1 << 20
_ROOT = ("audit_id", "root")
_MERGED = ("segmented_files", "segmented_file_bytes", "live_segment_bytes")
_SUMS = ("files", "bytes", "metadata_files", *_MERGED, "replicated_files", "raw_bytes")
CUBE_KEY = ("directory_no", "verdict", "reason", "kind", "is_small")
CUBE = schema(
    directory_no="int",
    verdict="text",
    reason="text",
    kind="text",
    is_small="flag",
    **dict.fromkeys(_SUMS, "int"),
)
_LARGEST = np.iinfo(np.int64).max


def cube(judged: pa.Table, files: pa.Table) -> pa.Table:
    """Files and bytes by ``CUBE_KEY``. ``judged``: four columns of the key, for each file."""
    size = numbers_of(files, "bytes", 0)
    metadata = arrays.flags(is_metadata(column(files, "path")))
    segmented = arrays.flags_of(files, "segmented")
    copies = numbers_of(files, "replication", 0)
    figures = {
        "is_small": (size <= SMALL_FILE_BYTES) & ~metadata,
        "files": np.ones(len(size), np.int64),
        "bytes": size,
        "metadata_files": metadata.astype(np.int64),
        "segmented_files": segmented.astype(np.int64),
        "segmented_file_bytes": np.where(segmented, size, 0),
        "live_segment_bytes": numbers_of(files, "live_segment_bytes", 0),
        "replicated_files": arrays.flags(pc.is_valid(column(files, "replication"))).astype(
            np.int64
        ),
        "raw_bytes": np.where(size > _LARGEST // np.maximum(copies, 1), _LARGEST, size * copies),
    }
    columns = {name: judged.column(name) for name in judged.column_names} | figures
    return arrays.sum_rows(arrays.table(columns, CUBE), CUBE_KEY)


def _sum_by(
    cube: pa.Table, directories: RowList, names: Sequence[str], cube_names: Sequence[str] = ()
) -> list[Row]:
    """Sums by columns of directories (``names``) and of the cube; also sums of each verdict."""
    at = numbers_of(cube, "directory_no")
    directory_columns = {
        name: pa.array([row[name] for row in directories], pa.string()).take(pa.array(at))
        for name in names
    }
    sums = {name: column(cube, name) for name in _SUMS}
    sums["small_files"] = np.where(arrays.flags_of(cube, "is_small"), numbers_of(cube, "files"), 0)
    for verdict in VERDICTS:
        has_verdict = arrays.flags(pc.equal(column(cube, "verdict"), verdict))
        for unit in ("files", "bytes"):
            sums[f"{verdict}_{unit}"] = np.where(has_verdict, numbers_of(cube, unit), 0)
    key = (*names, *cube_names)
    rows: list[Row] = arrays.sum_rows(
        pa.table(directory_columns | {name: cube.column(name) for name in cube_names} | sums), key
    ).to_pylist()
    return [
        row | {"raw_bytes": row["raw_bytes"] if row["replicated_files"] == row["files"] else None}
        for row in rows
    ]


def verdict_rows(cube: pa.Table, directories: RowList) -> list[Row]:
    return [
        row | {"kind": row["kind"] or ""}
        for row in _sum_by(cube, directories, _ROOT, ("verdict", "reason", "kind"))
    ]


def root_rows(
    cube: pa.Table,
    directories: RowList,
    checkpoints: Rows,
    lost: Mapping[Key, Row],
    doubts: RowList,
    reached: Sequence[Set[int]],
    replaced: Mapping[Key, int],
    roots: Rows,
) -> list[Row]:
    """Rows of ``storage_root``. ``lost``: missing files by root; ``reached``: directory numbers
    that each doubt reaches; ``replaced``: by root, number of _metadata gone when read.
    """
    sums = {key_of(row, _ROOT): row for row in _sum_by(cube, directories, _ROOT)}
    checkpoints_of_root = by(checkpoints, *_ROOT)
    roots = list(roots)
    reasons_of_root, doubts_of_root = _doubts_by_root(directories, doubts, reached, roots)
    nothing = dict.fromkeys(
        (*_SUMS, *(f"{verdict}_{unit}" for verdict in VERDICTS for unit in ("files", "bytes"))), 0
    )
    rows = []
    for root in roots:
        key = key_of(root, _ROOT)
        obstacles = {
            "not_attested": not root["attested"],
            TWO_NAMES: TWO_NAMES in reasons_of_root[key],
            "in_doubt": bool(reasons_of_root[key] - {TWO_NAMES}),
            "unreachable_cluster": root["unreachable"],
        }
        not_cleanable = [code for code, is_present in obstacles.items() if is_present]
        rows.append(
            root
            | sums.get(key, nothing | {"raw_bytes": None})
            | lost.get(key, {"missing_files": 0, "missing_bytes": 0})
            | {
                "checkpoints": len(checkpoints_of_root.get(key, ())),
                "replaced": replaced.get(key, 0),
                "doubts": doubts_of_root[key],
                "cleanable": not not_cleanable,
                "not_cleanable": as_json(not_cleanable),
            }
        )
    return rows


def _doubts_by_root(
    directories: RowList,
    doubts: RowList,
    reached: Sequence[Set[int]],
    roots: RowList,
) -> tuple[dict[Key, set[str]], Counter[Key]]:
    """By root: reasons of doubts about all of it, and the number about any file."""
    reasons: dict[Key, set[str]] = {key_of(root, _ROOT): set() for root in roots}
    counts: Counter[Key] = Counter()
    for doubt, numbers in zip(doubts, reached, strict=True):
        reached_roots = {key_of(directories[number], _ROOT) for number in numbers}
        for root in reasons:
            if root[0] == doubt["audit_id"] and doubt["reach"].covers_root(root[1]):
                reasons[root].add(doubt["reason"])
                reached_roots.add(root)
        counts.update(reached_roots)
    return reasons, counts


def withheld_by_doubt(cube: pa.Table, directories: RowList) -> list[tuple[int, int]]:
    at = numbers_of(cube, "directory_no")
    in_doubt = np.array([row["in_doubt"] for row in directories], np.bool_)
    is_withheld = arrays.flags(
        pc.is_in(column(cube, "reason"), value_set=pa.array(["in_doubt", "first_audit"]))
    )
    is_withheld &= in_doubt[at] if len(at) else is_withheld
    sums = [
        arrays.sums(at[is_withheld], numbers_of(cube, unit)[is_withheld], len(directories))
        for unit in ("files", "bytes")
    ]
    return list(zip(*(figures.tolist() for figures in sums), strict=True))


def job_rows(
    cube: pa.Table,
    directories: RowList,
    checkpoints: Rows,
    reached: Mapping[Key, Row],
    owners: Rows,
) -> list[Row]:
    """Rows of ``storage_job``. ``reached``: by job directory, files elsewhere to which its
    checkpoints refer, and missing files.
    """
    checkpoints_of_job = by((row for row in checkpoints if not row["is_savepoint"]), *JOB_DIRECTORY)
    owner_of = {key_of(row, JOB_DIRECTORY): row for row in owners}
    jobs = []
    for row in _sum_by(cube, directories, (*JOB_DIRECTORY, "job_id")):
        if row["job_directory"] is None:
            continue
        key = key_of(row, JOB_DIRECTORY)
        retained, owner = checkpoints_of_job.get(key, []), owner_of.get(key, {})
        newest = largest(entry["checkpoint_id"] for entry in retained)
        modified = {entry["checkpoint_id"]: entry["modified"] for entry in reversed(retained)}
        jobs.append(
            row
            | reached.get(key, dict.fromkeys(REACHED, 0))
            | {
                "directory": row["job_directory"],
                "cluster": owner.get("cluster") or "",
                "job_name": owner.get("job_name"),
                "terminal": owner["terminal"] if owner.get("claims") == 1 else None,
                "checkpoints": len(retained),
                "newest_checkpoint_id": newest,
                "newest_modified": None if newest is None else modified[newest],
            }
        )
    return jobs
