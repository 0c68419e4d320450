"""Operator state of retained checkpoints: bytes of each operator, besides keyed state, and the
elements of its named lists. For each element a checkpoint keeps an offset of eight bytes in its
``_metadata``, which the JobManager has on its heap; of a UNION list each subtask gets the elements
of all at a restore.
"""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.storage import arrays
from spark_jobs.storage.arrays import Numbers, column
from spark_jobs.storage.plain import Row, as_json, by, first_by

LEAST_ELEMENTS, LEAST_BYTES = 256, 16 << 10
"""Operators with less of both have no row: every source has a few elements."""
MOST_OPERATORS = 20
"""Of one checkpoint."""
MOST_STATES = 10
"""Of one operator."""
NAME_LENGTH = 200
_KINDS = ("managed-op", "raw-op")
_OTHERS = ("coordinator", "channel-input", "channel-output")
_OPERATOR = ["audit_id", "metadata_path", "operator_id"]
_COUNTS = (
    "operator_bytes",
    "keyed_bytes",
    "files",
    "subtasks",
    "elements",
    "union_elements",
)
OPERATORS = pa.schema(
    [
        *((name, pa.string()) for name in (*_OPERATOR, "operator_name")),
        *((name, pa.int64()) for name in _COUNTS),
        ("states", pa.string()),
    ]
)


def notable_operators(rows: pa.Table) -> pa.Table:
    """Of all ``_metadata`` read, to their end or not; ``rows`` are handles."""
    other = pc.is_in(rows.column("kind"), value_set=pa.array(_OTHERS))
    rows = rows.filter(
        pc.and_(
            pc.greater(rows.column("ordinal"), 0),
            pc.and_(pc.is_valid(rows.column("kind")), pc.invert(other)),
        )
    )
    named, code = arrays.grouped(rows, _OPERATOR)
    size = named.num_rows
    of_operator = arrays.flags(pc.is_in(column(rows, "kind"), value_set=pa.array(_KINDS)))
    bytes_of = arrays.numbers_of(rows, "state_bytes", 0)
    operator_bytes = arrays.sums(code[of_operator], bytes_of[of_operator], size)
    elements, states = _list_sums(rows, code, of_operator, size)
    notable = (operator_bytes > 0) & (
        (elements["elements"] >= LEAST_ELEMENTS) | (operator_bytes >= LEAST_BYTES)
    )
    own = (
        rows.filter(pa.array(of_operator))
        .select(["path", "subtask"])
        .append_column("code", pa.array(code[of_operator]))
    )
    names = (
        rows.select(["operator_name"])
        .append_column("code", pa.array(code))
        .group_by("code")
        .aggregate([("operator_name", "max")])
        .sort_by("code")
    )
    figures = {
        **{name: column(named, name) for name in _OPERATOR},
        "operator_name": column(names, "operator_name_max"),
        "operator_bytes": operator_bytes,
        "keyed_bytes": arrays.sums(code[~of_operator], bytes_of[~of_operator], size),
        **{
            name: _distinct(own, of, size)
            for name, of in (("files", "path"), ("subtasks", "subtask"))
        },
        **elements,
    }
    notable_rows = arrays.table(figures, OPERATORS).filter(pa.array(notable))
    written = [states.get(int(number), "[]") for number in np.flatnonzero(notable)]
    return notable_rows.set_column(
        OPERATORS.get_field_index("states"), "states", pa.array(written, pa.string())
    )


def _distinct(own: pa.Table, name: str, size: int) -> Numbers:
    counted = own.group_by("code").aggregate([(name, "count_distinct")])
    return arrays.sums(
        arrays.numbers_of(counted, "code"),
        arrays.numbers_of(counted, f"{name}_count_distinct"),
        size,
    )


def _list_sums(
    rows: pa.Table, code: Numbers, of_operator: np.ndarray, size: int
) -> tuple[dict[str, Numbers], dict[int, str]]:
    """Elements by mode, and ``states`` of a code: JSON of [{name, mode, elements, most}], ``most``
    of one subtask.
    """
    lists = column(rows, "states").filter(pa.array(of_operator))
    at = code[of_operator][pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)]
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
    named = table.group_by(["code", "name", "mode"]).aggregate(
        [("offsets", "sum"), ("offsets", "max")]
    )
    mode = column(named, "mode")
    of = arrays.numbers_of(named, "code")
    elements = arrays.numbers_of(named, "offsets_sum")
    which = {
        "elements": np.ones(len(of), np.bool_),
        "union_elements": arrays.flags(pc.equal(mode, "UNION")),
    }
    by_mode = {
        name: arrays.sums(of[chosen], elements[chosen], size) for name, chosen in which.items()
    }
    return by_mode, {
        number: _as_json(states) for (number,), states in by(named.to_pylist(), "code").items()
    }


def _as_json(states: list[Row]) -> str:
    def order(state: Row) -> tuple[int, str, str]:
        return -(state["offsets_sum"] or 0), state["name"] or "", state["mode"] or ""

    fields = {"name": "name", "mode": "mode", "elements": "offsets_sum", "most": "offsets_max"}
    shown = [
        {name: state[of] for name, of in fields.items() if state[of] is not None}
        for state in first_by(states, order, MOST_STATES)
    ]
    return as_json(shown)


def of_checkpoints(operators: Iterable[Row], checkpoint_rows: Iterable[Row]) -> list[Row]:
    """``storage_operator_state`` of completely read checkpoints."""
    of = by(operators, "audit_id", "metadata_path")
    names = ("root", "cluster", "job_id", "checkpoint_id", "is_savepoint", "modified")

    def order(operator: Row) -> tuple[int, int, str]:
        return -operator["elements"], -operator["operator_bytes"], operator["operator_id"] or ""

    return [
        operator | {name: checkpoint[name] for name in names}
        for checkpoint in checkpoint_rows
        for operator in first_by(
            of.get((checkpoint["audit_id"], checkpoint["metadata_path"]), ()), order, MOST_OPERATORS
        )
    ]
