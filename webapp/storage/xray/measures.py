"""Figures over the handles of one ``_metadata``, as Arrow aggregations; lists are cut to what a
page can show.
"""

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ingest.metadata.pieces import Operator
from webapp.storage.xray.contents import (
    DirectoryContents,
    ListedState,
    OperatorContents,
    SizeBucket,
    SubtaskBytes,
)

MOST_OPERATORS = 500
MOST_SUBTASKS = 100
MOST_DIRECTORIES = 200
MOST_STATES = 500
_JOB_DIRECTORY = r"^(?P<job>.*/[0-9a-f]{32})/"


def total(column: Any) -> int:
    return int(pc.sum(column).as_py() or 0)


def distinct_files(table: pa.Table) -> pa.Table:
    """``path``, ``bytes``, ``references``: segments of a file are summed, whole files count once."""
    referring = table.filter(pc.is_valid(table["path"]))
    # The same segment may be named by several handles; so may a whole file.
    once = referring.group_by(["path", "offset_bytes"]).aggregate(
        [("size_bytes", "max"), ("size_bytes", "count")]
    )
    files_once = once.group_by("path").aggregate(
        [("size_bytes_max", "sum"), ("size_bytes_count", "sum")]
    )
    renamed = {
        "path": files_once["path"],
        "bytes": files_once["size_bytes_max_sum"],
        "references": files_once["size_bytes_count_sum"],
    }
    return pa.table(
        {
            name: column.cast(pa.int64()) if name != "path" else column
            for name, column in renamed.items()
        }
    )


def _own(path: Any, owner: str) -> Any:
    return pc.starts_with(path, f"{owner}/")


def foreign(files: pa.Table, owner: str) -> pa.Table:
    """Files outside the directory of its own job; the same id elsewhere is another job."""
    return files.filter(pc.invert(_own(files["path"], owner)))


def directories(files: pa.Table, owner: str) -> tuple[tuple[DirectoryContents, ...], int]:
    """By job directory if there is one, else by the file's directory; most bytes first."""
    if not files.num_rows:
        return (), 0
    of_job = pc.struct_field(pc.extract_regex(files["path"], _JOB_DIRECTORY), "job")
    plain = pc.replace_substring_regex(files["path"], r"/[^/]*$", "")
    grouped = (
        files.append_column("directory", pc.coalesce(of_job, plain))
        .append_column("own", _own(files["path"], owner))
        .group_by(["directory", "own"])
        .aggregate([("bytes", "sum"), ("references", "sum"), ("path", "count")])
        .sort_by([("bytes_sum", "descending"), ("directory", "ascending")])
    )
    rows = grouped.slice(0, MOST_DIRECTORIES).to_pylist()
    shown = tuple(
        DirectoryContents(
            row["directory"],
            _job_id(row["directory"]),
            row["own"],
            row["references_sum"],
            row["path_count"],
            row["bytes_sum"],
        )
        for row in rows
    )
    return shown, grouped.num_rows - len(shown)


def _job_id(directory: str) -> str | None:
    name = directory.rpartition("/")[2]
    return (
        name if len(name) == 32 and all(letter in "0123456789abcdef" for letter in name) else None
    )


def absolute(table: pa.RecordBatch) -> int:
    """Paths written as absolute ones, those of directories that merged files keep alive included."""
    referring = table.filter(pc.is_valid(table["path"]))
    written = total(pc.equal(referring["path"], referring["written_path"]).cast(pa.int64()))
    return written + int(table.num_rows - table["task_owned_directory"].null_count)


def operators(
    table: pa.Table,
    declared: Mapping[str, Operator],
    finished: Mapping[str, int],
    uploaded: Mapping[str, int | None],
) -> tuple[tuple[OperatorContents, ...], int]:
    """At most ``MOST_OPERATORS``, most state first; and how many were left out."""
    by_subtask: dict[str, dict[int, int]] = defaultdict(dict)
    for row in (
        table.group_by(["operator_id", "subtask"]).aggregate([("state_bytes", "sum")]).to_pylist()
    ):
        # A coordinator has no subtask.
        by_subtask[row["operator_id"]][-1 if row["subtask"] is None else row["subtask"]] = row[
            "state_bytes_sum"
        ]
    kinds: dict[str, dict[str, int]] = defaultdict(dict)
    for row in (
        table.group_by(["operator_id", "kind"]).aggregate([("state_bytes", "sum")]).to_pylist()
    ):
        kinds[row["operator_id"]][row["kind"]] = row["state_bytes_sum"]
    inline = _sums(table.filter(pc.is_valid(table["inline_at"])), "size_bytes", "sum")
    files = _sums(table.filter(pc.is_valid(table["path"])), "path", "count_distinct")
    ordered = sorted(
        declared.values(),
        key=lambda operator: (
            -sum(by_subtask[operator.operator_id].values()),
            operator.operator_id,
        ),
    )
    shown = tuple(
        _operator(
            operator, by_subtask[operator.operator_id], finished, kinds, inline, files, uploaded
        )
        for operator in ordered[:MOST_OPERATORS]
    )
    return shown, len(ordered) - len(shown)


def _sums(table: pa.Table, column: str, how: str) -> dict[str, int]:
    grouped = table.group_by("operator_id").aggregate([(column, how)])
    return {row["operator_id"]: row[f"{column}_{how}"] for row in grouped.to_pylist()}


def _operator(
    operator: Operator,
    subtasks: dict[int, int],
    finished: Mapping[str, int],
    kinds: Mapping[str, dict[str, int]],
    inline: Mapping[str, int],
    files: Mapping[str, int],
    uploaded: Mapping[str, int | None],
) -> OperatorContents:
    key = operator.operator_id
    largest = sorted(
        ((number, size) for number, size in subtasks.items() if number >= 0),
        key=lambda item: (-item[1], item[0]),
    )
    running = max(operator.parallelism - finished.get(key, 0), len(largest))
    spread = [size for _number, size in largest] + [0] * (running - len(largest))
    return OperatorContents(
        operator_id=key,
        name=operator.name or operator.uid or "",
        parallelism=operator.parallelism,
        subtasks=len(largest),
        finished=operator.parallelism if operator.fully_finished else finished.get(key, 0),
        state_bytes=sum(subtasks.values()),
        uploaded_bytes=uploaded.get(key, 0),
        files=files.get(key, 0),
        inline_bytes=inline.get(key, 0),
        largest=tuple(SubtaskBytes(*item) for item in largest[:MOST_SUBTASKS]),
        max_over_median=_max_over_median(spread),
        kinds=dict(kinds.get(key, {})),
    )


def _max_over_median(sizes: Sequence[int]) -> float | None:
    middle = statistics.median(sizes) if len(sizes) > 1 else 0
    return max(sizes) / middle if middle > 0 else None


def listed_states(
    table: pa.Table, declared: Mapping[str, Operator]
) -> tuple[tuple[ListedState, ...], int]:
    """Named operator states, by bytes that a restore reads, most first."""
    rows = (
        table.filter(pc.is_valid(table["states"]))
        .select(["operator_id", "states", "size_bytes", "path"])
        .to_pylist()
    )
    merged: dict[tuple[str, str, str], list[tuple[int, int]]] = defaultdict(list)
    files: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for row in rows:
        for state in row["states"]:
            key = row["operator_id"], state["name"], state["mode"]
            merged[key].append((state["offsets"], row["size_bytes"] or 0))
            if row["path"] is not None:
                files[key].add(row["path"])
    listed_rows = []
    for (operator_id, name, mode), parts in merged.items():
        operator = declared[operator_id]
        handle_bytes = sum(size for _offsets, size in parts)
        listed_rows.append(
            ListedState(
                operator_id=operator_id,
                operator_name=operator.name or "",
                name=name,
                mode=mode,
                parallelism=operator.parallelism,
                subtasks=len(parts),
                files=len(files[operator_id, name, mode]),
                offsets=sum(offsets for offsets, _size in parts),
                most_offsets=max(offsets for offsets, _size in parts),
                handle_bytes=handle_bytes,
                restore_bytes=_restore_bytes(
                    mode, operator.parallelism, [size for _offsets, size in parts]
                ),
            )
        )
    listed_rows.sort(key=lambda state: (-state.restore_bytes, state.operator_id, state.name))
    return tuple(listed_rows[:MOST_STATES]), max(len(listed_rows) - MOST_STATES, 0)


def _restore_bytes(mode: str, parallelism: int, sizes: Sequence[int]) -> int:
    if mode == "UNION":
        return parallelism * sum(sizes)
    return parallelism * max(sizes, default=0) if mode == "BROADCAST" else sum(sizes)


def size_buckets(sizes: Any) -> tuple[SizeBucket, ...]:
    """By powers of two, including empty ones between the smallest and the largest."""
    counts: dict[int, list[int]] = {}
    for size in sizes.to_pylist():
        bucket = counts.setdefault(1 << max(int(size) - 1, 0).bit_length(), [0, 0])
        bucket[0] += 1
        bucket[1] += size
    if not counts:
        return ()
    first, last = min(counts).bit_length(), max(counts).bit_length()
    return tuple(
        SizeBucket(1 << bit - 1, *counts.get(1 << bit - 1, (0, 0)))
        for bit in range(first, last + 1)
    )
