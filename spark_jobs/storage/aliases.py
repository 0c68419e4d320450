"""One directory under two names: what a checkpoint needs under the one looks dead under the other.

Flink names its files by UUIDs below the id of a job, so that no two files anywhere end alike. Where
two listed paths do, they are one file (a bind mount, two mounts of one export, a NameNode's address
beside its name service) or a copy of it: nobody can tell which from here. So both are kept, and the
doubt says which two directories they are.

Of a reference of which no file was found, outside the roots or in them, any listed file of its name
may be meant, but for upper and lower case, which some file systems take for one.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ingest.storage.layout import UUID_CHARS
from spark_jobs.storage import arrays
from spark_jobs.storage.arrays import column
from spark_jobs.storage.layout_columns import is_candidate
from spark_jobs.storage.verdicts import PATHS

_TEXT, _INT = pa.string(), pa.int64()
_NAMED = pa.schema([("audit_id", _TEXT), ("path", _TEXT), ("end", _TEXT)])
ENDS = {"listed": _NAMED, "referred": _NAMED, "named": _NAMED.append(pa.field("root_no", _INT))}
SPREAD = pa.schema([("audit_id", _TEXT), ("job_id", _TEXT)])
_PAIR = [("audit_id", _TEXT), ("root_no", _INT), ("directory", _TEXT), ("other_directory", _TEXT)]
SCHEMAS = {
    "alike": PATHS,
    "spellings": pa.schema(
        [("audit_id", _TEXT), ("path", _TEXT), ("referred_as", _TEXT), ("files", _INT)]
    ),
    "twins": pa.schema([*_PAIR, ("files", _INT), ("path", _TEXT)]),
}
PAIR = [name for name, _ in _PAIR]


def ends_of_paths(
    parts: Mapping[str, pa.Table], known: Mapping[str, pa.Table]
) -> dict[str, pa.Table]:
    """The names of files: of ``parts["files"]`` and ``parts["not_found"]`` where any of an audit
    was not found; of files the names in jobs (``known["spread"]``) that have files in more than one
    directory. Usually there is none of both.
    """
    files, not_found = parts["files"], parts["not_found"]
    audits = known["not_found"].column("audit_id").combine_chunks()
    place = files.column("place")
    candidates = files.filter(pc.and_(is_candidate(place), pc.not_equal(place, "metadata")))
    asked = pa.concat_tables([candidates, files.filter(pc.equal(place, "savepoint"))])
    asked = asked.filter(pc.is_in(asked.column("audit_id"), value_set=audits))
    of_job = arrays.found_at(
        arrays.joined(candidates, "audit_id", "job_id"),
        arrays.joined(known["spread"], "audit_id", "job_id"),
    )
    named = candidates.select(["audit_id", "root_no", "path", "job_id"]).filter(
        pa.array(of_job >= 0)
    )
    ends = pc.binary_join_element_wise(column(named, "job_id"), _names(named), "/")
    return {
        "listed": _named(asked),
        "referred": _named(not_found),
        "named": named.append_column("end", ends).select(ENDS["named"].names).cast(ENDS["named"]),
    }


def _named(rows: pa.Table) -> pa.Table:
    end = pc.utf8_lower(_names(rows))
    return rows.select(["audit_id", "path"]).append_column("end", end).cast(_NAMED)


def _names(rows: pa.Table) -> pa.Array:
    """Flink's, which are UUIDs."""
    return pc.utf8_slice_codeunits(column(rows, "path"), -UUID_CHARS)


def alike(parts: Mapping[str, pa.Table], known: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """``parts``: ``ENDS``, all that end alike together.

    ``spellings`` and ``twins`` are parts of sums.
    """
    spellings, twins = _other_spellings(parts["listed"], parts["referred"]), _twins(parts["named"])
    both = pa.concat_tables([table.select(PATHS.names) for table in (spellings, twins)])
    first = spellings.sort_by([("audit_id", "ascending"), ("path", "ascending")])
    _, at = arrays.grouped(first, ["audit_id"])
    counts = arrays.counts(at, int(at.max(initial=-1)) + 1)
    numbers, places = np.unique(at, return_index=True)
    return {
        "alike": both.group_by(PATHS.names).aggregate([]).select(PATHS.names),
        "spellings": first.take(pa.array(places)).append_column("files", pa.array(counts[numbers])),
        "twins": arrays.summed(
            twins.select([*PAIR, "path"]).append_column(
                "files", pa.array(np.ones(twins.num_rows, np.int64))
            ),
            PAIR,
            ("path",),
        ).select(SCHEMAS["twins"].names),
    }


def _other_spellings(listed: pa.Table, referred: pa.Table) -> pa.Table:
    """Listed files (audit_id, path, referred_as) that a reference may mean of which no file was
    found.
    """
    meant = referred.group_by(["audit_id", "end"]).aggregate([("path", "min")])
    at = arrays.found_at(
        arrays.joined(listed, "audit_id", "end"), arrays.joined(meant, "audit_id", "end")
    )
    other_spellings = listed.append_column(
        "referred_as", arrays.taken(column(meant, "path_min"), at)
    ).filter(pa.array(at >= 0))
    named = other_spellings.group_by(["audit_id", "path"]).aggregate([("referred_as", "min")])
    return named.rename_columns({"referred_as_min": "referred_as"}).select(
        ["audit_id", "path", "referred_as"]
    )


def _twins(named: pa.Table) -> pa.Table:
    """Listed files that end like another one."""
    _, at = arrays.grouped(named, ["audit_id", "end"])
    span = (
        named.append_column("at", pa.array(at))
        .group_by("at")
        .aggregate([("path", "min"), ("path", "max")])
        .sort_by("at")
    )
    first, last = (column(span, name).take(pa.array(at)) for name in ("path_min", "path_max"))
    path = column(named, "path")
    other = pc.if_else(pc.equal(path, first), last, first)
    rows = pa.table(
        {
            **{name: column(named, name) for name in ("audit_id", "root_no", "path")},
            "directory": _above(path),
            "other_directory": _above(other),
        }
    )
    return rows.filter(pc.not_equal(first, last))


def _above(path: pa.Array) -> pa.Array:
    """The directory that the job's one lies in."""
    return pc.fill_null(
        pc.struct_field(pc.extract_regex(path, r"^(?P<above>[\s\S]*)/[0-9a-f]{32}/"), [0]), ""
    )
