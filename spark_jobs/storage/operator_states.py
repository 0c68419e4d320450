"""Operator state of retained checkpoints: bytes of each operator and elements of its named lists.
The _metadata has eight bytes for each element, which the JobManager holds on its heap; at a restore
each subtask gets all elements of a UNION list.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.arrow_schemas import schema
from spark_jobs.storage import arrays
from spark_jobs.storage.arrays import Numbers, column
from spark_jobs.storage.plain import Row, Rows, as_json, by, first_by

LEAST_ELEMENTS, LEAST_BYTES = 256, 16 << 10
"""Operators with fewer elements and fewer bytes have no row: every source has a few elements."""
MOST_OPERATORS = 20
"""Rows of one checkpoint."""
MOST_STATES = 10
"""Named lists of one operator."""
NAME_LENGTH = 200
_OPERATOR_KINDS = ("managed-op", "raw-op")
_OTHER_KINDS = ("coordinator", "channel-input", "channel-output")
_OPERATOR = ["audit_id", "metadata_path", "operator_id"]
_COUNTS = ("operator_bytes", "files", "subtasks", "elements", "union_elements")
OPERATORS = schema(
    **dict.fromkeys((*_OPERATOR, "operator_name"), "text"),
    **dict.fromkeys(_COUNTS, "int"),
    states="text",
)


def notable_operators(rows: pa.Table) -> pa.Table:
    """``OPERATORS`` of all _metadata, also partly read. ``rows``: handles."""
    is_other = pc.is_in(rows.column("kind"), value_set=pa.array(_OTHER_KINDS))
    rows = rows.filter(
        pc.and_(
            pc.greater(rows.column("ordinal"), 0),
            pc.and_(pc.is_valid(rows.column("kind")), pc.invert(is_other)),
        )
    )
    operators, code = arrays.group(rows, _OPERATOR)
    size = operators.num_rows
    is_operator = arrays.flags(pc.is_in(column(rows, "kind"), value_set=pa.array(_OPERATOR_KINDS)))
    bytes_of = arrays.numbers_of(rows, "state_bytes", 0)
    operator_bytes = arrays.sums(code[is_operator], bytes_of[is_operator], size)
    elements, states = _list_sums(rows, code, is_operator, size)
    notable = (operator_bytes > 0) & (
        (elements["elements"] >= LEAST_ELEMENTS) | (operator_bytes >= LEAST_BYTES)
    )
    operator_rows = (
        rows.filter(pa.array(is_operator))
        .select(["path", "subtask"])
        .append_column("code", pa.array(code[is_operator]))
    )
    names = (
        rows.select(["operator_name"])
        .append_column("code", pa.array(code))
        .group_by("code")
        .aggregate([("operator_name", "max")])
        .sort_by("code")
    )
    figures = {
        **{name: column(operators, name) for name in _OPERATOR},
        "operator_name": column(names, "operator_name_max"),
        "operator_bytes": operator_bytes,
        "files": _count_distinct(operator_rows, "path", size),
        "subtasks": _count_distinct(operator_rows, "subtask", size),
        **elements,
    }
    notable_rows = arrays.table(figures, OPERATORS).filter(pa.array(notable))
    documents = [states.get(int(number), "[]") for number in np.flatnonzero(notable)]
    return arrays.with_column(notable_rows, "states", pa.array(documents, pa.string()))


def _count_distinct(rows: pa.Table, name: str, size: int) -> Numbers:
    counts = rows.group_by("code").aggregate([(name, "count_distinct")])
    return arrays.sums(
        arrays.numbers_of(counts, "code"), arrays.numbers_of(counts, f"{name}_count_distinct"), size
    )


def _list_sums(
    rows: pa.Table, code: Numbers, is_operator: np.ndarray, size: int
) -> tuple[dict[str, Numbers], dict[int, str]]:
    """Sums of elements, and the column ``states`` by code: JSON of [{name, mode, elements, most}];
    ``most``: of one subtask.
    """
    lists = column(rows, "states").filter(pa.array(is_operator))
    at = code[is_operator][np.asarray(pc.list_parent_indices(lists))]
    names, modes, offsets = (
        pc.struct_field(pc.list_flatten(lists), name) for name in ("name", "mode", "offsets")
    )
    table = pa.table(
        {
            "code": at,
            "name": pc.utf8_slice_codeunits(names, 0, NAME_LENGTH),
            "mode": modes,
            "offsets": offsets,
        }
    )
    list_rows = table.group_by(["code", "name", "mode"]).aggregate(
        [("offsets", "sum"), ("offsets", "max")]
    )
    mode = column(list_rows, "mode")
    list_code = arrays.numbers_of(list_rows, "code")
    elements = arrays.numbers_of(list_rows, "offsets_sum")
    is_union = arrays.flags(pc.equal(mode, "UNION"))
    sums = {
        "elements": arrays.sums(list_code, elements, size),
        "union_elements": arrays.sums(list_code[is_union], elements[is_union], size),
    }
    return sums, {
        number: _as_json(states) for (number,), states in by(list_rows.to_pylist(), "code").items()
    }


def _as_json(states: list[Row]) -> str:
    def order(state: Row) -> tuple[int, str, str]:
        return -(state["offsets_sum"] or 0), state["name"] or "", state["mode"] or ""

    fields = {"name": "name", "mode": "mode", "elements": "offsets_sum", "most": "offsets_max"}
    documents = [
        {name: state[source] for name, source in fields.items() if state[source] is not None}
        for state in first_by(states, order, MOST_STATES)
    ]
    return as_json(documents)


def operator_state_rows(operators: Rows, checkpoint_rows: Rows) -> list[Row]:
    """``storage_operator_state``, for checkpoints read to their end."""
    by_checkpoint = by(operators, "audit_id", "metadata_path")
    names = ("root", "cluster", "job_id", "checkpoint_id", "is_savepoint", "modified")

    def order(operator: Row) -> tuple[int, int, str]:
        return -operator["elements"], -operator["operator_bytes"], operator["operator_id"] or ""

    return [
        operator | {name: checkpoint[name] for name in names}
        for checkpoint in checkpoint_rows
        for operator in first_by(
            by_checkpoint.get((checkpoint["audit_id"], checkpoint["metadata_path"]), ()),
            order,
            MOST_OPERATORS,
        )
    ]
