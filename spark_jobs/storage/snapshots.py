"""The content of each ``_metadata``: figures, and distinct files referred to."""

import hashlib
import re
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ingest.uris import Spellings
from spark_jobs.arrow_schemas import arrow_schema, fields_of, schema
from spark_jobs.audit_tables import STORAGE_REFERENCE
from spark_jobs.storage import arrays, operator_states, parsing
from spark_jobs.storage.arrays import Numbers, Tables, column
from spark_jobs.storage.plain import by

_COLUMNS = (
    "audit_id",
    "root",
    "metadata_path",
    "metadata_bytes",
    "metadata_modified",
    "ordinal",
    "kind",
    "checkpoint_id",
    "path",
    "written_path",
    "offset_bytes",
    "size_bytes",
    "state_bytes",
    "task_owned_directory",
    "shared_directory",
    "operator_id",
    "operator_name",
    "subtask",
    "states",
    "failure",
    "failure_detail",
    "head_sha256",
    "named_jobs",
)
PARSED = schema(*fields_of(parsing.PARSED, *_COLUMNS), repeated="flag")
"""``repeated``: rows of the file may be stored twice, if two audits parsed it at the same time."""

_CHECKPOINT = schema(audit_id="text", metadata_path="text")
_IN_ROOT = schema(*_CHECKPOINT, root="text")
FAILED = schema(
    *_IN_ROOT,
    *fields_of(parsing.PARSED, "metadata_bytes", "metadata_modified", *_COLUMNS[-4:]),
)
SCHEMAS = {
    "snapshots": schema(
        *_IN_ROOT,
        checkpoint_id="int",
        metadata_bytes="int",
        modified="instant",
        relocatable="flag",
        unplaced="int",
        digest="text",
    ),
    "storage_reference": arrow_schema(STORAGE_REFERENCE),
    "segments": schema(*_CHECKPOINT, path="text", offset_bytes="int", bytes="int"),
    "operators": operator_states.OPERATORS,
    "bad_paths": schema(*_IN_ROOT, written_path="text", named_jobs=pa.list_(pa.string())),
    "failed": FAILED,
}
"""``bad_paths``: for each ``_metadata`` with references that are no valid paths, the first of them.
``named_jobs``: the jobs in these references; null if a reference contains no job id.
"""

_PATHS = ("written_path", "task_owned_directory", "shared_directory")
_ABSOLUTE = "^(/|[A-Za-z][A-Za-z0-9+.-]*:)"
_IN_JOB = re.compile("/([0-9a-f]{32})(?=/)")
_BAD_PATH = SCHEMAS["bad_paths"].names


def read_checkpoints(
    parts: Tables, _: Tables, spellings_of: Mapping[str, Spellings]
) -> dict[str, pa.Table]:
    """Tables of ``SCHEMAS``. ``parts["parsed"]``: ``PARSED``, all rows of each file."""
    rows = parts["parsed"]
    failed = rows.filter(pc.is_valid(rows.column("failure")))
    rows = rows.filter(pc.is_null(rows.column("failure")))
    repeated = pc.fill_null(rows.column("repeated"), False)
    if pc.any(repeated).as_py():
        unique = arrays.without_repeated(
            rows.filter(repeated), ["audit_id", "metadata_path", "ordinal"]
        )
        rows = pa.concat_tables([rows.filter(pc.invert(repeated)), unique])
    operators = operator_states.notable_operators(rows)
    rows = arrays.with_column(rows, "path", parsing.canonical_paths(rows, "path", spellings_of))
    (code,), size = arrays.encode(arrays.texts(rows, "audit_id", "metadata_path"))
    is_complete = arrays.mark(code[arrays.numbers_of(rows, "ordinal") == 0], size)
    handles = rows.append_column("code", pa.array(code))
    unplaced = pc.and_(pc.is_null(rows.column("path")), pc.is_valid(rows.column("written_path")))
    tables = {
        "snapshots": _snapshots(rows, code, size, unplaced),
        "operators": operators,
        "bad_paths": _bad_paths(rows.filter(unplaced)),
        "failed": failed,
        **_reference_tables(
            handles.filter(
                pc.and_(pc.is_valid(rows.column("path")), pa.array(is_complete[code], pa.bool_()))
            )
        ),
    }
    return {
        name: rows.select(SCHEMAS[name].names).cast(SCHEMAS[name]) for name, rows in tables.items()
    }


def _snapshots(rows: pa.Table, code: Numbers, size: int, unplaced: pa.Array) -> pa.Table:
    """A row for each _metadata read to its end. ``relocatable``: no absolute paths. ``unplaced``:
    number of invalid paths.
    """
    is_absolute = np.zeros(len(code), np.bool_)
    for name in _PATHS:
        is_absolute |= arrays.flags(pc.match_substring_regex(column(rows, name), _ABSOLUTE))
    figures = {
        "relocatable": ~arrays.mark(code[is_absolute], size),
        "unplaced": arrays.counts(code[arrays.flags(unplaced.combine_chunks())], size),
        "digest": pa.array(_digests(rows, code, size), pa.string()),
    }
    is_last = arrays.numbers_of(rows, "ordinal") == 0
    last_rows = rows.filter(pa.array(is_last)).rename_columns({"metadata_modified": "modified"})
    names = ("root", "checkpoint_id", "metadata_bytes", "modified")
    last_rows = last_rows.select(["audit_id", "metadata_path", *names]).append_column(
        "code", pa.array(code[is_last])
    )
    snapshot_rows = last_rows.group_by(["code", "audit_id", "metadata_path"]).aggregate(
        [(name, "max") for name in names]
    )
    at = arrays.numbers_of(snapshot_rows, "code")
    renamed = snapshot_rows.rename_columns({f"{name}_max": name for name in names})
    return pa.table(
        {
            **{name: renamed.column(name) for name in renamed.column_names},
            **{
                name: figure.take(pa.array(at)) if isinstance(figure, pa.Array) else figure[at]
                for name, figure in figures.items()
            },
        }
    )


def _digests(rows: pa.Table, code: Numbers, size: int) -> list[str | None]:
    """Of each file's references, in their order and spelling; None if there are none."""
    is_written = pc.and_(
        pc.greater(rows.column("ordinal"), 0), pc.is_valid(rows.column("written_path"))
    )
    references = rows.select(
        ["ordinal", "written_path", "offset_bytes", "size_bytes"]
    ).append_column("code", pa.array(code))
    references = (
        references.filter(is_written)
        .sort_by([("code", "ascending"), ("ordinal", "ascending")])
        .combine_chunks()
    )
    digests: list[str | None] = [None] * size
    codes = arrays.numbers_of(references, "code")
    paths, starts = column(references, "written_path"), np.flatnonzero(np.diff(codes, prepend=-1))
    lengths = arrays.numbers(pc.binary_length(paths))
    text = b"".join(paths.cast(pa.binary()).to_pylist())
    ends = np.concatenate([[0], np.cumsum(lengths)])
    figures = np.stack(
        [arrays.numbers_of(references, name) for name in ("ordinal", "offset_bytes", "size_bytes")]
        + [lengths],
        axis=1,
    )
    for first, last in pairwise([*starts, len(codes)]):
        digest = hashlib.sha256(text[ends[first] : ends[last]])
        digest.update(figures[first:last].tobytes())
        digests[codes[first]] = digest.hexdigest()
    return digests


def _bad_paths(unplaced: pa.Table) -> pa.Table:
    bad_paths = []
    rows = unplaced.select(_BAD_PATH[:-1]).to_pylist()
    for key, group in by(rows, "audit_id", "metadata_path", "root").items():
        paths = sorted(row["written_path"] for row in group)
        jobs_of_paths = [_IN_JOB.findall(path) for path in paths]
        named_jobs = None
        if all(jobs_of_paths):
            named_jobs = sorted({job for jobs in jobs_of_paths for job in jobs})
        bad_paths.append(dict(zip(_BAD_PATH, (*key, paths[0], named_jobs), strict=True)))
    return pa.Table.from_pylist(bad_paths, SCHEMAS["bad_paths"])


def _reference_tables(handles: pa.Table) -> dict[str, pa.Table]:
    """``storage_reference``: distinct files of each checkpoint; of merged files, bytes of distinct
    ``segments``. Many handles may refer to one file, each with its whole size.
    """
    is_segment = pc.is_valid(handles.column("offset_bytes"))
    key = ["code", "audit_id", "metadata_path", "path"]
    handles = handles.select([*key, "ordinal", "offset_bytes", "size_bytes"])
    is_reference = pc.greater(handles.column("ordinal"), 0)
    files = handles.filter(is_reference).group_by(key).aggregate([("size_bytes", "max")])
    segments = (
        handles.filter(is_segment)
        .group_by([*key, "offset_bytes"])
        .aggregate([("size_bytes", "max")])
    )
    key_columns = {name: column(files, name) for name in key}
    file_bytes = arrays.numbers_of(files, "size_bytes_max", 0)
    segmented = np.zeros(len(file_bytes), np.bool_)
    if segments.num_rows:
        codes, size = arrays.encode(
            *(arrays.texts(table, "code", "path") for table in (files, segments))
        )
        file_code, segment_code = codes
        segmented = arrays.mark(segment_code, size)[file_code]
        segment_bytes = arrays.numbers_of(segments, "size_bytes_max", 0)
        segment_sums = arrays.sums(segment_code, segment_bytes, size)[file_code]
        file_bytes = np.where(segmented, segment_sums, file_bytes)
    return {
        "storage_reference": pa.table({**key_columns, "bytes": file_bytes, "segmented": segmented}),
        "segments": segments.rename_columns({"size_bytes_max": "bytes"}),
    }
