"""Aggregates the handles of one ``_metadata`` with Arrow. Lists are cut for a page."""

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ingest.metadata.pieces import Operator
from webapp.storage.xray.contents import DirectoryContents, ListedState, OperatorContents

MOST_ROWS = 100
_JOB_DIRECTORY = r"^(?P<job>.*/[0-9a-f]{32})/"


def total(column: Any) -> int:
    return int(pc.sum(column).as_py() or 0)


def distinct_files(table: pa.Table) -> pa.Table:
    """``path`` and ``bytes``: segments of a file are summed, whole files count once."""
    referring = table.filter(pc.is_valid(table["path"]))
    # Several handles may name the same segment or the same whole file.
    distinct = referring.group_by(["path", "offset_bytes"]).aggregate([("size_bytes", "max")])
    files = distinct.group_by("path").aggregate([("size_bytes_max", "sum")])
    return pa.table({"path": files["path"], "bytes": files["size_bytes_max_sum"].cast(pa.int64())})


def foreign(files: pa.Table, owner: str) -> pa.Table:
    """Files outside the job's directory ``owner``."""
    return files.filter(pc.invert(_is_own(files["path"], owner)))


def _is_own(path: Any, owner: str) -> Any:
    return pc.starts_with(path, f"{owner}/")


def directories(files: pa.Table, owner: str) -> tuple[tuple[DirectoryContents, ...], int]:
    """Job directories, else file directories, most bytes first; how many were left out."""
    if not files.num_rows:
        return (), 0
    job_directory = pc.struct_field(pc.extract_regex(files["path"], _JOB_DIRECTORY), "job")
    file_directory = pc.replace_substring_regex(files["path"], r"/[^/]*$", "")
    grouped = (
        files.append_column("directory", pc.coalesce(job_directory, file_directory))
        .append_column("own", _is_own(files["path"], owner))
        .group_by(["directory", "own"])
        .aggregate([("bytes", "sum"), ("path", "count")])
        .sort_by([("bytes_sum", "descending"), ("directory", "ascending")])
    )
    shown = tuple(
        DirectoryContents(row["directory"], row["own"], row["path_count"], row["bytes_sum"])
        for row in grouped.slice(0, MOST_ROWS).to_pylist()
    )
    return shown, grouped.num_rows - len(shown)


def absolute(table: pa.RecordBatch) -> int:
    """Number of absolute paths, including directories that merged files keep alive."""
    referring = table.filter(pc.is_valid(table["path"]))
    paths = total(pc.equal(referring["path"], referring["written_path"]).cast(pa.int64()))
    return paths + int(table.num_rows - table["task_owned_directory"].null_count)


def operators(
    table: pa.Table, declared: Mapping[str, Operator], finished: Mapping[str, int]
) -> tuple[tuple[OperatorContents, ...], int]:
    """Operators, most state first; how many were left out. ``finished``: operator id → finished
    subtasks.
    """
    by_subtask: dict[str, dict[int | None, int]] = defaultdict(dict)
    sums = table.group_by(["operator_id", "subtask"]).aggregate([("state_bytes", "sum")])
    for row in sums.to_pylist():
        # A coordinator has no subtask.
        by_subtask[row["operator_id"]][row["subtask"]] = row["state_bytes_sum"]
    referring = table.filter(pc.is_valid(table["path"]))
    counts = referring.group_by("operator_id").aggregate([("path", "count_distinct")])
    files = {row["operator_id"]: row["path_count_distinct"] for row in counts.to_pylist()}
    ordered = sorted(
        declared.values(),
        key=lambda operator: (
            -sum(by_subtask[operator.operator_id].values()),
            operator.operator_id,
        ),
    )
    shown = []
    for operator in ordered[:MOST_ROWS]:
        key = operator.operator_id
        sizes = [size for subtask, size in by_subtask[key].items() if subtask is not None]
        running = max(operator.parallelism - finished.get(key, 0), len(sizes))
        shown.append(
            OperatorContents(
                operator_id=key,
                name=operator.name or operator.uid or "",
                parallelism=operator.parallelism,
                state_bytes=sum(by_subtask[key].values()),
                largest_bytes=max(sizes, default=0),
                max_over_median=_max_over_median(sizes + [0] * (running - len(sizes))),
                files=files.get(key, 0),
            )
        )
    return tuple(shown), len(ordered) - len(shown)


def _max_over_median(sizes: Sequence[int]) -> float | None:
    median = statistics.median(sizes) if len(sizes) > 1 else 0
    return max(sizes) / median if median > 0 else None


def listed_states(
    table: pa.Table, declared: Mapping[str, Operator]
) -> tuple[tuple[ListedState, ...], int]:
    """Named operator states, most bytes to restore first; how many were left out."""
    rows = (
        table.filter(pc.is_valid(table["states"]))
        .select(["operator_id", "states", "size_bytes", "path"])
        .to_pylist()
    )
    sizes: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    files: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for row in rows:
        for state in row["states"]:
            key = row["operator_id"], state["name"], state["mode"]
            sizes[key].append(row["size_bytes"] or 0)
            if row["path"] is not None:
                files[key].add(row["path"])
    states = []
    for (operator_id, name, mode), parts in sizes.items():
        operator = declared[operator_id]
        states.append(
            ListedState(
                operator_id=operator_id,
                operator_name=operator.name or "",
                name=name,
                mode=mode,
                parallelism=operator.parallelism,
                subtasks=len(parts),
                files=len(files[operator_id, name, mode]),
                handle_bytes=sum(parts),
                restore_bytes=_restore_bytes(mode, operator.parallelism, parts),
            )
        )
    states.sort(key=lambda state: (-state.restore_bytes, state.operator_id, state.name))
    return tuple(states[:MOST_ROWS]), max(len(states) - MOST_ROWS, 0)


def _restore_bytes(mode: str, parallelism: int, sizes: Sequence[int]) -> int:
    if mode == "UNION":
        return parallelism * sum(sizes)
    if mode == "BROADCAST":
        return parallelism * max(sizes, default=0)
    return sum(sizes)
