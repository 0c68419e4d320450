"""One directory under two names: a file that a checkpoint needs under one name looks dead under the
other. Flink names its files by UUIDs below a job id, so two listed paths that end alike are one
file (a bind mount, two mounts of one export, a NameNode's address beside its name service) or a
copy; Weir cannot tell which. So each is kept where anything speaks for the other: a reference, now
or before; a job that writes to its directory; a reference to any shared file in it.

Nothing of this speaks for a copy that somebody put beside the original: then the original is judged
as if the copy were not there, and the copy is kept.

A reference of which no file was found may mean any listed file of its name, also in upper or lower
case, which some file systems take for one.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ingest.storage.layout import UUID_CHARS
from spark_jobs.arrow_schemas import schema
from spark_jobs.storage import arrays
from spark_jobs.storage.arrays import Flags, Numbers, Tables, column
from spark_jobs.storage.layout_columns import is_candidate, with_places
from spark_jobs.storage.verdicts import PATHS

_TEXT, _INT = pa.string(), pa.int64()
_NAMED = schema(audit_id="text", path="text", end="text")
JOB_DIRECTORIES = schema(audit_id="text", job_directory="text")
ENDS = {
    "listed": pa.schema([*_NAMED, ("job_directory", _TEXT)]),
    "referred": _NAMED,
    "named": pa.schema(
        [*_NAMED, ("job_directory", _TEXT), ("root_no", _INT), ("is_needed", pa.bool_())]
    ),
    "used": JOB_DIRECTORIES,
}
"""``used``: directories to whose files, but for those of single checkpoints, something refers: a
copied ``_metadata`` names what lies beside it by its place.
"""
SPREAD = schema(audit_id="text", job_id="text")
ROOTS = schema(is_whole="flag")
"""By ``root_no``."""
_PAIR = [
    ("audit_id", _TEXT),
    ("root_no", _INT),
    ("other_root_no", _INT),
    ("job_directory", _TEXT),
    ("other_job_directory", _TEXT),
]
SCHEMAS = {
    "alike": PATHS,
    "spellings": pa.schema(
        [*JOB_DIRECTORIES, ("path", _TEXT), ("referred_as", _TEXT), ("files", _INT)]
    ),
    "twins": pa.schema([*_PAIR, ("files", _INT), ("path", _TEXT)]),
}
PAIR = [name for name, _ in _PAIR]


def ends_of_paths(parts: Tables, known: Tables) -> dict[str, pa.Table]:
    """The names of files: of ``parts["files"]`` and ``parts["not_found"]`` where a reference of the
    audit was not found; of files the names in jobs (``known["spread"]``) that have files in more
    than one directory. ``parts["unread"]``: what checkpoints referred to that were not read this
    time.
    """
    files, not_found = parts["files"], parts["not_found"]
    audits = known["not_found"].column("audit_id").combine_chunks()
    place = files.column("place")
    candidates = files.filter(pc.and_(is_candidate(place), pc.not_equal(place, "metadata")))
    asked = pa.concat_tables([candidates, files.filter(pc.equal(place, "savepoint"))])
    asked = asked.filter(pc.is_in(asked.column("audit_id"), value_set=audits))
    is_spread = arrays.are_in(candidates, known["spread"], "audit_id", "job_id")
    named = candidates.filter(pa.array(is_spread))
    is_needed = pc.or_(
        pc.greater(pc.list_value_length(column(named, "referrers")), 0),
        pc.or_(
            pc.is_valid(column(named, "vanished_referrer")),
            pc.is_valid(column(named, "last_referred_at")),
        ),
    )
    was_referred = arrays.are_in(named, parts["unread"], "audit_id", "path")
    is_needed = pc.or_(is_needed, pa.array(was_referred))
    ends = pc.binary_join_element_wise(column(named, "job_id"), _names(named), "/")
    named = named.append_column("end", ends).append_column("is_needed", is_needed)
    # A reference to what is not there makes the name of its place a used one as well.
    used = pa.concat_tables(
        rows.filter(pc.not_equal(rows.column("place"), "exclusive")).select(JOB_DIRECTORIES.names)
        for rows in (named.filter(named.column("is_needed")), with_places(not_found))
    )
    return {
        "listed": _with_name(asked, "listed"),
        "referred": _with_name(not_found, "referred"),
        "named": named.select(ENDS["named"].names).cast(ENDS["named"]),
        "used": arrays.distinct(
            used.filter(pc.is_valid(used.column("job_directory"))), JOB_DIRECTORIES.names
        ),
    }


def _with_name(rows: pa.Table, name: str) -> pa.Table:
    end = pc.utf8_lower(_names(rows))
    return rows.append_column("end", end).select(ENDS[name].names).cast(ENDS[name])


def _names(rows: pa.Table) -> pa.Array:
    # Names of Flink's files are UUIDs.
    return pc.utf8_slice_codeunits(column(rows, "path"), -UUID_CHARS)


def alike(parts: Tables, known: Tables) -> dict[str, pa.Table]:
    """``parts``: ``ENDS`` but ``used``, grouped by ``end``; ``known``: roots, ``used`` directories,
    and those that are ``set_apart``: excluded, and not used. ``spellings`` and ``twins`` are
    partial sums.
    """
    spellings = _other_spellings(parts["listed"], parts["referred"])
    twins, kept = _twins(parts["named"], known)
    both = pa.concat_tables([table.select(PATHS.names) for table in (spellings, kept)])
    first = spellings.sort_by([("audit_id", "ascending"), ("path", "ascending")])
    _, at = arrays.grouped(first, JOB_DIRECTORIES.names)
    counts = arrays.counts(at, int(at.max(initial=-1)) + 1)
    numbers, places = np.unique(at, return_index=True)
    return {
        "alike": arrays.distinct(both, PATHS.names),
        "spellings": first.take(pa.array(places))
        .append_column("files", pa.array(counts[numbers]))
        .select(SCHEMAS["spellings"].names),
        "twins": arrays.summed(
            twins.select([*PAIR, "path"]).append_column(
                "files", pa.array(np.ones(twins.num_rows, np.int64))
            ),
            PAIR,
            ("path",),
        ).select(SCHEMAS["twins"].names),
    }


def _other_spellings(listed: pa.Table, referred: pa.Table) -> pa.Table:
    """Listed files that a reference without a file may mean."""
    meant = referred.group_by(["audit_id", "end"]).aggregate([("path", "min")])
    at = arrays.places_in(listed, meant, "audit_id", "end")
    other_spellings = listed.append_column(
        "referred_as", arrays.taken(column(meant, "path_min"), at)
    ).filter(pa.array(at >= 0))
    key = ["job_directory", "audit_id", "path"]
    named = other_spellings.group_by(key).aggregate([("referred_as", "min")])
    return named.rename_columns({"referred_as_min": "referred_as"}).select([*key, "referred_as"])


def _twins(named: pa.Table, known: Tables) -> tuple[pa.Table, pa.Table]:
    """Listed files that end like another one; those of them whose other names may be in use."""
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
    audit_id = column(named, "audit_id")
    place_of_other = arrays.require_places(
        pc.binary_join_element_wise(audit_id, other, "\0"), arrays.joined(named, "audit_id", "path")
    )
    sides = {name: column(named, name) for name in ("root_no", "job_directory")}
    rows = pa.table(
        {"audit_id": audit_id, "path": path}
        | sides
        | {f"other_{name}": of.take(pa.array(place_of_other)) for name, of in sides.items()}
    )
    is_twin = pc.not_equal(first, last)
    speaks = _speaks(named, at, known).astype(np.int64)
    of_others = arrays.sums(at, speaks, int(at.max(initial=-1)) + 1)[at] - speaks
    return rows.filter(is_twin), rows.filter(pc.and_(is_twin, pa.array(of_others > 0)))


def _speaks(named: pa.Table, at: Numbers, known: Tables) -> Flags:
    """Whether a file may be needed under any name."""
    is_used, is_set_apart = (
        arrays.are_in(named, known[name], *JOB_DIRECTORIES.names) for name in ("used", "set_apart")
    )
    root_no = arrays.numbers_of(named, "root_no")
    is_whole = arrays.flags_of(known["roots"], "is_whole")[root_no]
    size = int(at.max(initial=-1)) + 1
    # Two roots may be on one file system, so one may be another name of the other.
    is_spread = arrays.maxima(at, root_no, size)[at] != -arrays.maxima(at, -root_no, size)[at]
    is_needed = arrays.flags_of(named, "is_needed")
    speaks: Flags = (is_needed | is_used | is_spread | ~is_whole) & ~is_set_apart
    return speaks
