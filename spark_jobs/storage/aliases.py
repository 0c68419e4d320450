"""One directory under two names: a file that a checkpoint needs under one name looks unneeded under
the other. Flink names its files by UUIDs below a job id. So two listed paths with the same end are
one file (a bind mount, two mounts of one export, a NameNode's address beside its name service) or a
copy, and Weir cannot tell which. A file is kept if the file of the other name may be needed: it is
or was referred to, a job writes to its directory, or a shared file there is referred to.

For a copy that somebody put beside the original, none of this is true: then the original is judged
as if there were no copy, and the copy is kept.

A reference whose file was not found may mean any listed file of the same name, in upper or lower
case, since some file systems do not distinguish them.
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

_NAMED = schema(audit_id="text", path="text", end="text")
JOB_DIRECTORIES = schema(audit_id="text", job_directory="text")
ENDS = {
    "listed": schema(*_NAMED, job_directory="text"),
    "referred": _NAMED,
    "named": schema(*_NAMED, job_directory="text", root_no="int", is_needed="flag"),
    "used": JOB_DIRECTORIES,
}
"""``used``: directories with referenced files. Files in the directory of a single checkpoint do not
count: a copied ``_metadata`` refers to the files beside itself.
"""
SPREAD = schema(audit_id="text", job_id="text")
ROOTS = schema(is_whole="flag")
"""``is_whole`` of each root, in the order of ``root_no``."""
_PAIR = schema(
    audit_id="text",
    root_no="int",
    other_root_no="int",
    job_directory="text",
    other_job_directory="text",
)
SCHEMAS = {
    "alike": PATHS,
    "spellings": schema(*JOB_DIRECTORIES, path="text", referred_as="text", files="int"),
    "twins": schema(*_PAIR, files="int", path="text"),
}
PAIR = _PAIR.names


def ends_of_paths(parts: Tables, shared: Tables) -> dict[str, pa.Table]:
    """The ends of paths (``ENDS``). ``listed``, ``referred``: files of audits in which a reference
    was not found, and these references. ``named``: files of job ids that have several directories
    (``spread``). ``parts["unread"]``: references of checkpoints that this audit did not read.
    """
    files, not_found = parts["files"], parts["not_found"]
    audits = shared["not_found"].column("audit_id").combine_chunks()
    place = files.column("place")
    candidates = files.filter(pc.and_(is_candidate(place), pc.not_equal(place, "metadata")))
    listed = pa.concat_tables([candidates, files.filter(pc.equal(place, "savepoint"))])
    listed = listed.filter(pc.is_in(listed.column("audit_id"), value_set=audits))
    is_spread = arrays.are_in(candidates, shared["spread"], "audit_id", "job_id")
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
    # A reference without a file also makes its directory used.
    used = pa.concat_tables(
        rows.filter(pc.not_equal(rows.column("place"), "exclusive")).select(JOB_DIRECTORIES.names)
        for rows in (named.filter(named.column("is_needed")), with_places(not_found))
    )
    return {
        "listed": _with_name(listed, "listed"),
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


def compare_names(parts: Tables, shared: Tables) -> dict[str, pa.Table]:
    """``SCHEMAS``: files to keep, and partial sums about other spellings and twins. ``parts``:
    ``ENDS`` without ``used``, grouped by ``end``. ``shared``: ``roots``, ``used`` directories, and
    ``set_apart``: excluded directories that are not used.
    """
    spellings = _other_spellings(parts["listed"], parts["referred"])
    twins, kept = _twins(parts["named"], shared)
    alike = pa.concat_tables([table.select(PATHS.names) for table in (spellings, kept)])
    in_order = spellings.sort_by([("audit_id", "ascending"), ("path", "ascending")])
    _, index = arrays.group(in_order, JOB_DIRECTORIES.names)
    counts = arrays.counts(index, int(index.max(initial=-1)) + 1)
    numbers, places = np.unique(index, return_index=True)
    return {
        "alike": arrays.distinct(alike, PATHS.names),
        "spellings": in_order.take(pa.array(places))
        .append_column("files", pa.array(counts[numbers]))
        .select(SCHEMAS["spellings"].names),
        "twins": arrays.sum_rows(
            twins.select([*PAIR, "path"]).append_column(
                "files", pa.array(np.ones(twins.num_rows, np.int64))
            ),
            PAIR,
            ("path",),
        ).select(SCHEMAS["twins"].names),
    }


def _other_spellings(listed: pa.Table, referred: pa.Table) -> pa.Table:
    """Listed files that a reference without a file may mean."""
    references = referred.group_by(["audit_id", "end"]).aggregate([("path", "min")])
    at = arrays.places_in(listed, references, "audit_id", "end")
    other_spellings = listed.append_column(
        "referred_as", arrays.take(column(references, "path_min"), at)
    ).filter(pa.array(at >= 0))
    key = ["job_directory", "audit_id", "path"]
    named = other_spellings.group_by(key).aggregate([("referred_as", "min")])
    return named.rename_columns({"referred_as_min": "referred_as"}).select([*key, "referred_as"])


def _twins(named: pa.Table, shared: Tables) -> tuple[pa.Table, pa.Table]:
    """Listed files with another's end, and those of them whose other file may be needed."""
    _, index = arrays.group(named, ["audit_id", "end"])
    extremes = (
        named.append_column("at", pa.array(index))
        .group_by("at")
        .aggregate([("path", "min"), ("path", "max")])
        .sort_by("at")
    )
    first, last = (
        column(extremes, name).take(pa.array(index)) for name in ("path_min", "path_max")
    )
    path = column(named, "path")
    other = pc.if_else(pc.equal(path, first), last, first)
    audit_id = column(named, "audit_id")
    place_of_other = arrays.require_places(
        pc.binary_join_element_wise(audit_id, other, "\0"), arrays.texts(named, "audit_id", "path")
    )
    sides = {name: column(named, name) for name in ("root_no", "job_directory")}
    rows = pa.table(
        {"audit_id": audit_id, "path": path}
        | sides
        | {f"other_{name}": side.take(pa.array(place_of_other)) for name, side in sides.items()}
    )
    is_twin = pc.not_equal(first, last)
    may_be_needed = _may_be_needed(named, index, shared).astype(np.int64)
    size = int(index.max(initial=-1)) + 1
    needed_others = arrays.sums(index, may_be_needed, size)[index] - may_be_needed
    return rows.filter(is_twin), rows.filter(pc.and_(is_twin, pa.array(needed_others > 0)))


def _may_be_needed(named: pa.Table, index: Numbers, shared: Tables) -> Flags:
    is_used, is_set_apart = (
        arrays.are_in(named, shared[name], *JOB_DIRECTORIES.names) for name in ("used", "set_apart")
    )
    root_no = arrays.numbers_of(named, "root_no")
    is_whole = arrays.flags_of(shared["roots"], "is_whole")[root_no]
    size = int(index.max(initial=-1)) + 1
    # Two roots may be one directory under two names.
    is_spread = (
        arrays.maxima(index, root_no, size)[index] != -arrays.maxima(index, -root_no, size)[index]
    )
    is_needed = arrays.flags_of(named, "is_needed")
    may_be_needed: Flags = (is_needed | is_used | is_spread | ~is_whole) & ~is_set_apart
    return may_be_needed
