"""What the audit before left of files and references, as far as this one audits where they lie."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.arrow_schemas import arrow_schema
from spark_jobs.audit_tables import STORAGE_FILE
from spark_jobs.storage import arrays
from spark_jobs.storage.arrays import Flags, column
from spark_jobs.storage.layout_columns import are_below
from spark_jobs.storage.plain import is_below

KNOWN_OF_FILE = ("first_seen_at", "unreferenced_since", "last_referred_at", "last_referrer", "vanished_referrer")
"""Columns of ``storage_file`` that the next audit starts from."""
KNOWN_FILES = pa.schema([arrow_schema(STORAGE_FILE).field(name) for name in ("root", "path", "modified", *KNOWN_OF_FILE)])
"""``storage_file``, ``storage_live`` and ``storage_absent`` as the next audit reads them."""
REFERRED = pa.schema([("metadata_path", pa.string()), ("path", pa.string())])
"""``storage_reference`` and ``storage_pending`` as the next audit reads them."""


class Carried(NamedTuple):
    """``mine`` have ``audit_id`` and, of files, the audited ``root``; ``others`` are as they came: the next audit may ask for them."""

    mine: pa.Table
    others: pa.Table


def files_of_roots(known: pa.Table, roots: Mapping[str, list[str]]) -> Carried:
    """Files below the audited roots, whatever root they were found below before: one within it, or around it.

    ``roots``: audit → its roots.
    """
    paths, of = column(known, "path"), column(known, "root").dictionary_encode()
    before, at = of.dictionary.to_pylist(), of.indices.to_numpy(zero_copy_only=False)

    def below(root: str) -> Flags:
        nested = np.array([one == root or is_below(one, root) or is_below(root, one) for one in before], np.bool_)
        found: Flags = nested[at] if len(at) else np.zeros(0, np.bool_)
        if found.any():
            found[found] = arrays.flags(are_below(paths.filter(pa.array(found)), root))
        return found

    parts, is_mine = [], np.zeros(len(at), np.bool_)
    for audit_id, root in _audited(roots):
        if (found := below(root)).any():
            rows = known.filter(pa.array(found))
            named = rows.set_column(rows.schema.get_field_index("root"), "root", pa.repeat(root, rows.num_rows))
            parts.append(named.append_column("audit_id", pa.repeat(audit_id, rows.num_rows)))
            is_mine |= found
    return Carried(_all(parts, KNOWN_FILES), known.filter(pa.array(~is_mine)))


def references_of_roots(referred: pa.Table, roots: Mapping[str, list[str]]) -> Carried:
    """Whether a ``_metadata`` is gone can be known below audited roots only. One elsewhere, which nobody looks at any more,
    goes on referring to files below the audited roots."""
    of, paths = column(referred, "metadata_path").dictionary_encode(), column(referred, "path")
    at = of.indices.to_numpy(zero_copy_only=False)
    parts, is_mine = [], np.zeros(len(at), np.bool_)

    def take(audit_id: str, found: Flags) -> None:
        if found.any():
            rows = referred.filter(pa.array(found))
            parts.append(rows.append_column("audit_id", pa.repeat(audit_id, rows.num_rows)))

    for audit_id, root in _audited(roots):
        if (below := arrays.flags(are_below(of.dictionary, root))).any():
            take(audit_id, below[at])
            is_mine |= below[at]
    elsewhere = np.flatnonzero(~is_mine)
    for audit_id, root in _audited(roots) if len(elsewhere) else ():
        found = np.zeros(len(at), np.bool_)
        found[elsewhere] = arrays.flags(are_below(paths.take(pa.array(elsewhere)), root))
        take(audit_id, found)
        is_mine |= found
    return Carried(_all(parts, REFERRED), referred.filter(pa.array(~is_mine)))


def _audited(roots: Mapping[str, list[str]]) -> Iterator[tuple[str, str]]:
    return ((audit_id, root) for audit_id, of in roots.items() for root in of)


def _all(parts: list[pa.Table], schema: pa.Schema) -> pa.Table:
    return pa.concat_tables([schema.append(pa.field("audit_id", pa.string())).empty_table(), *parts])


def merged(known: pa.Table) -> pa.Table:
    """One row for each file: where two listed names are one path, or two roots hold it, what keeps it longer counts."""
    found = known.group_by(["audit_id", "path"]).aggregate([(name, "max") for name in KNOWN_OF_FILE])
    return found.rename_columns({f"{name}_max": name for name in KNOWN_OF_FILE})


def absent_files(known: pa.Table, is_listed: Flags, torn: pa.Table) -> pa.Table:
    """Files seen before and not listed now: all below roots that were not listed whole, and those whose referrer vanished.

    When they can be listed again, it must not look as if Weir saw them for the first time, or as if
    nothing had ever referred to them. A listing may lack a directory without a word.
    """
    is_torn = arrays.found_at(arrays.joined(known, "audit_id", "root"), arrays.joined(torn, "audit_id", "root")) >= 0
    stays = ~is_listed & (is_torn | arrays.flags(pc.is_valid(column(known, "vanished_referrer"))))
    return known.filter(pa.array(stays)).select(KNOWN_FILES.names)
