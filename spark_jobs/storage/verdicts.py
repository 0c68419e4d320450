"""The verdict on every file: what keeps a file is checked first; it is an orphan only if nothing
does (:data:`spark_jobs.storage_words.VERDICTS`).
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ingest.storage.layout import DATABASE, TASK_OWNED, UNFINISHED_METADATA
from spark_jobs.arrow_schemas import INSTANT, arrow_schema, schema
from spark_jobs.audit_tables import STORAGE_FILE
from spark_jobs.storage import arrays, totals
from spark_jobs.storage.arrays import (
    UNKNOWN,
    Flags,
    Numbers,
    Tables,
    column,
    known,
    later,
    numbers_of,
)
from spark_jobs.storage.carried import JOB_DIRECTORIES, REFERRED
from spark_jobs.storage.failed_checkpoints import FAILED, FailedCheckpoints
from spark_jobs.storage.layout_columns import (
    MERGED,
    are_below,
    directories_of,
    is_candidate,
    is_metadata,
    with_places,
)
from spark_jobs.storage.owners import CLOCKS_APART_S, LEFT_AFTER_S
from spark_jobs.storage.plain import US_PER_S
from spark_jobs.storage_words import KEPT, KINDS, LIVE, ORPHAN, RECENT, RETAINED_WASTE

_TEXT, _INT, _FLAG = pa.string(), pa.int64(), pa.bool_()
DIRECTORIES = schema(
    audit_id="text",
    root="text",
    job_directory="text",
    job_id="text",
    cluster="text",
    root_no="int",
    claims="int",
    suspects="int",
    as_of="instant",
    guarded_from="instant",
    future_from="instant",
    in_flight_since="instant",
    last_completed_at="instant",
    began_at="instant",
    started_at="instant",
    redeployed_at="instant",
    ended_at="instant",
    any_needed="flag",
    in_doubt="flag",
    job_needed="flag",
    last_unfound="flag",
    terminal="flag",
    seen="flag",
    is_lost="flag",
    is_lost_elsewhere="flag",
    failed=FAILED,
)
"""Directories that hold files, with what is known of their audit, root and job; numbered in this
order.
"""
NAMERS = schema(checkpoint_no="int", goes="flag")
"""Checkpoints that are waste: whether their ``_metadata`` may go, or a file that they refer to is
kept.
"""
CHECKPOINTS = schema(audit_id="text", metadata_path="text", is_live="flag", is_attested="flag")
"""Numbered as the referrers of files are."""
PATHS = schema(audit_id="text", path="text")

TASK_LOST = (
    "TASK_FAILURE",
    "JOB_FAILURE",
    "JOB_FAILOVER_REGION",
    "CHECKPOINT_COORDINATOR_SUSPEND",
    "TASK_CHECKPOINT_FAILURE",
)
"""Ends of a checkpoint that leave uploads which nobody acknowledged."""

_KINDS = list(KINDS)
_FILE = arrow_schema(STORAGE_FILE)
SCHEMAS = {
    "storage_live": _FILE,
    "not_live": _FILE.append(pa.field("root_no", _INT)),
    "storage_pending": REFERRED,
    "storage_lost": JOB_DIRECTORIES,
    "cube": totals.CUBE,
}


@dataclass(frozen=True)
class _Files:
    """Columns of one partition; those of directories by index ``at``."""

    rows: pa.Table
    directories: pa.Table
    at: Numbers

    def text(self, name: str) -> pa.Array:
        return column(self.rows, name)

    def number(self, name: str) -> Numbers:
        return numbers_of(self.rows, name)

    def of_directory(self, name: str) -> Numbers:
        return numbers_of(self.directories, name)[self.at]

    def is_of_directory(self, name: str) -> Flags:
        return arrays.flags_of(self.directories, name)[self.at]


@dataclass(frozen=True)
class _Facts:
    """Of single files: the index of a live and of a waste checkpoint that refers to it, -1 for
    none.
    """

    live: Numbers
    waste: Numbers
    snapshot: Flags
    other_spelling: Flags
    gone: Flags
    unread_referrer: Flags
    """A checkpoint that was not read this time refers to it, and nothing says that it is gone."""
    restored_from: Flags
    attested: Flags
    """A checkpoint that is waste as an operator attested it refers to it."""
    excluded: Flags
    newly_vanished: pa.Array

    @property
    def referred(self) -> Flags:
        return (self.live >= 0) | (self.waste >= 0)


def judged_files(parts: Tables, facts: Tables) -> dict[str, pa.Table]:
    """``parts``: files, unread and, if any, alike; ``facts``: directories, checkpoints, restored,
    excluded, gone, gone_before and vanished.
    """
    rows, directories, checkpoints = parts["files"], facts["directories"], facts["checkpoints"]
    files = _Files(
        rows,
        directories,
        arrays.require_places(_directory_keys(rows), _directory_keys(directories)),
    )
    unread = parts["unread"]
    unread_at = arrays.joined(unread, "audit_id", "metadata_path")
    is_gone, is_vanished = (
        pc.is_in(unread_at, value_set=arrays.joined(facts[name], "audit_id", "metadata_path"))
        for name in ("gone_before", "vanished")
    )
    # For an unlisted file, the next audit must know that its referrer vanished.
    is_settled = pc.and_(is_gone, pc.or_(pc.invert(is_vanished), unread.column("is_covered")))
    of_gone, pending = unread.filter(is_vanished), unread.filter(pc.invert(is_settled))
    of_single = _facts(files, parts.get("alike", PATHS.empty_table()), of_gone, pending, facts)
    failed = FailedCheckpoints(column(directories, "failed"), TASK_LOST)
    unlisted = known(files.number("unlisted_at"))
    # It then starts as a file that no audit has found unreferenced.
    is_as_others = unlisted & _is_listed_again(files)
    since_before = np.where(unlisted, UNKNOWN, _since_before(files))
    lines = _lines(files, of_single, failed, since_before, unlisted & ~is_as_others)
    line = np.full(rows.num_rows, len(lines) - 1)
    for number, (condition, _, _) in reversed(list(enumerate(lines))):
        line[condition] = number
    verdict, reason = (
        pa.array([words[place] for words in lines]).take(pa.array(line)) for place in (1, 2)
    )
    kind = _kinds(files, failed, np.flatnonzero(arrays.flags(pc.equal(verdict, ORPHAN))))
    of_files = pa.table(
        {
            **{
                name: column(rows, name)
                for name in (
                    "path",
                    "bytes",
                    "modified",
                    "first_seen_at",
                    "place",
                    "checkpoint_id",
                    "replication",
                )
            },
            **{
                name: column(directories, name).take(pa.array(files.at))
                for name in ("audit_id", "root", "root_no", "cluster", "job_id")
            },
            "listed_path": pc.coalesce(column(rows, "listed_path"), column(rows, "path")),
            "verdict": verdict,
            "reason": reason,
            "kind": kind,
            **_state(files, of_single, since_before, checkpoints, is_as_others),
        }
    )
    is_live = pc.equal(verdict, LIVE)
    cube = totals.cube(
        pa.table({"directory_no": files.at, "verdict": verdict, "reason": reason, "kind": kind}),
        rows,
    )
    return {
        "storage_live": of_files.filter(is_live).select(_FILE.names).cast(_FILE),
        "not_live": of_files.filter(pc.invert(is_live))
        .select(SCHEMAS["not_live"].names)
        .cast(SCHEMAS["not_live"]),
        "storage_pending": pending.select(REFERRED.names),
        "storage_lost": _lost_directories(of_gone.filter(of_gone.column("is_covered")), rows),
        "cube": cube,
    }


def find_namers(parts: Tables, facts: Tables) -> dict[str, pa.Table]:
    """``NAMERS``, from a first judgement of the files to which waste refers."""
    rows, checkpoints = parts["files"], facts["checkpoints"]
    row, number = _referrers(rows, _at_snapshots(rows, checkpoints))
    of_waste = ~arrays.flags_of(checkpoints, "is_live")[number]
    row, number = row[of_waste], number[of_waste]
    judged = rows.take(pa.array(np.unique(row)))
    not_live = judged_files({**parts, "files": judged}, facts)["not_live"]
    at = arrays.places_in(rows.take(pa.array(row)), not_live, *PATHS.names)
    verdict = arrays.taken(column(not_live, "verdict"), at)
    is_own = arrays.flags(is_metadata(column(rows, "path").take(pa.array(row))))
    goes = is_own & arrays.flags(pc.equal(verdict, RETAINED_WASTE))
    tells = goes | arrays.flags(pc.equal(verdict, KEPT))
    found = pa.table({"checkpoint_no": number[tells], "goes": goes[tells]}, schema=NAMERS)
    return {"namers": arrays.without_repeated(found, NAMERS.names)}


def _lost_directories(of_gone: pa.Table, rows: pa.Table) -> pa.Table:
    """Job directories of files that are not listed, and whose referrers are forgotten from now
    on.
    """
    paths = of_gone.select(PATHS.names)
    if paths.num_rows:
        paths = paths.filter(pa.array(~arrays.are_in(paths, rows, *PATHS.names)))
    directories = with_places(paths).select(JOB_DIRECTORIES.names)
    return arrays.distinct(
        directories.filter(pc.is_valid(directories.column("job_directory"))), JOB_DIRECTORIES.names
    )


def _is_listed_again(files: _Files) -> Flags:
    """Whether all audits since one that lacked it have listed it, for at least the age guard, and
    no referrer can be forgotten.
    """
    since, guarded_from = files.number("listed_since"), files.of_directory("guarded_from")
    is_long = known(since) & (since <= guarded_from)
    return is_long & ~files.is_of_directory("is_lost") & ~files.is_of_directory("in_doubt")


def _directory_keys(rows: pa.Table) -> pa.Array:
    directory = pc.fill_null(column(rows, "job_directory"), "")
    return pc.binary_join_element_wise(column(rows, "root_no").cast(_TEXT), directory, "\0")


def _facts(
    files: _Files,
    alike: pa.Table,
    of_gone: pa.Table,
    pending: pa.Table,
    facts: Tables,
) -> _Facts:
    rows, checkpoints = files.rows, facts["checkpoints"]
    size = rows.num_rows
    snapshot = _at_snapshots(rows, checkpoints)
    of, number = _referrers(rows, snapshot)
    is_live = arrays.flags_of(checkpoints, "is_live")[number]
    is_attested = arrays.flags_of(checkpoints, "is_attested")[number]
    excluded = np.zeros(size, np.bool_)
    for row in facts["excluded"].to_pylist():
        below = pc.and_(
            are_below(column(rows, "path"), row["directory"]),
            pc.equal(column(rows, "audit_id"), row["audit_id"]),
        )
        excluded |= arrays.flags(below)
    restored = facts["restored"]
    restored_from = np.zeros(size, np.bool_)
    if restored.num_rows:
        inside = pc.binary_join_element_wise(
            column(rows, "audit_id"), directories_of(column(rows, "path")), "\0"
        )
        restored_from = (
            arrays.find_places(inside, arrays.joined(restored, "audit_id", "directory")) >= 0
        )
    gone_of = of_gone.group_by(PATHS.names).aggregate([("metadata_path", "max")])
    return _Facts(
        live=np.maximum(arrays.maxima(of[is_live], number[is_live], size), -1),
        waste=np.maximum(arrays.maxima(of[~is_live], number[~is_live], size), -1),
        snapshot=snapshot >= 0,
        other_spelling=arrays.are_in(rows, alike, *PATHS.names),
        gone=_at_snapshots(rows, facts["gone"]) >= 0,
        unread_referrer=arrays.are_in(rows, pending, *PATHS.names),
        restored_from=restored_from,
        attested=arrays.marked(of[is_attested], size),
        excluded=excluded,
        newly_vanished=arrays.taken(
            column(gone_of, "metadata_path_max"),
            arrays.places_in(rows, gone_of, *PATHS.names),
        ),
    )


def _at_snapshots(rows: pa.Table, snapshots: pa.Table) -> Numbers:
    """The index of each file in ``snapshots``; only ``_metadata`` are looked up, which are few."""
    found = np.full(rows.num_rows, -1)
    at = np.flatnonzero(arrays.flags(is_metadata(column(rows, "path"))))
    found[at] = arrays.find_places(
        arrays.joined(rows.take(pa.array(at)), "audit_id", "path"),
        arrays.joined(snapshots, "audit_id", "metadata_path"),
    )
    return found


def _referrers(rows: pa.Table, snapshot: Numbers) -> tuple[Numbers, Numbers]:
    """Indexes of files, each with the number of a checkpoint that refers to it or is it."""
    referrers = column(rows, "referrers")
    of = np.concatenate(
        [
            pc.list_parent_indices(referrers).to_numpy(zero_copy_only=False),
            np.flatnonzero(snapshot >= 0),
        ]
    )
    number = np.concatenate(
        [pc.list_flatten(referrers).to_numpy(zero_copy_only=False), snapshot[snapshot >= 0]]
    )
    return of.astype(np.int64), number.astype(np.int64)


def _since_before(files: _Files) -> Numbers:
    """When an earlier audit found it unreferenced, unless it was referred to since."""
    since, referred_at = files.number("unreferenced_since"), files.number("last_referred_at")
    return np.where(later(since, referred_at) | ~known(since) | ~known(referred_at), since, UNKNOWN)


def _state(
    files: _Files, facts: _Facts, since_before: Numbers, checkpoints: pa.Table, is_as_others: Flags
) -> dict[str, pa.Array]:
    """The state of files for the next audit."""
    unlisted_at, listed_since = (
        np.where(is_as_others, UNKNOWN, files.number(name))
        for name in ("unlisted_at", "listed_since")
    )
    as_of = files.of_directory("as_of")
    # An audit in doubt may have missed a referrer: it proves nothing, but does not undo earlier
    # proofs.
    proves_nothing = files.is_of_directory("in_doubt") | facts.unread_referrer | known(unlisted_at)
    first_found = np.where(proves_nothing, UNKNOWN, as_of)
    since = np.where(known(since_before), since_before, first_found)
    referrer = np.where(facts.live >= 0, facts.live, facts.waste)
    return {
        "unreferenced_since": arrays.optional(np.where(facts.referred, UNKNOWN, since), INSTANT),
        "last_referred_at": arrays.optional(
            np.where(facts.referred, as_of, files.number("last_referred_at")), INSTANT
        ),
        "last_referrer": pc.coalesce(
            arrays.taken(column(checkpoints, "metadata_path"), referrer),
            files.text("last_referrer"),
        ),
        "vanished_referrer": pc.coalesce(files.text("vanished_referrer"), facts.newly_vanished),
        "unlisted_at": arrays.optional(unlisted_at, INSTANT),
        "listed_since": arrays.optional(listed_since, INSTANT),
    }


def _lines(
    files: _Files, facts: _Facts, failed: FailedCheckpoints, since_before: Numbers, unlisted: Flags
) -> list[tuple[Flags, str, str]]:
    """(condition, verdict, reason): the first true one decides. Comparisons with unknown values are
    false.
    """
    path, place = files.text("path"), files.text("place")
    modified = files.number("modified")
    age_from = np.maximum(modified, files.number("first_seen_at"))
    as_of, guarded_from = files.of_directory("as_of"), files.of_directory("guarded_from")
    last_completed_at = files.of_directory("last_completed_at")
    in_flight_since = files.of_directory("in_flight_since")
    claims, suspects = files.of_directory("claims"), files.of_directory("suspects")
    seen, terminal = files.is_of_directory("seen"), files.is_of_directory("terminal")

    def is_place(*names: str) -> Flags:
        return arrays.flags(pc.is_in(place, value_set=pa.array(names)))

    unread = arrays.flags(is_metadata(path)) & ~facts.snapshot
    never_completed = failed.of_number_and_time(
        files.at, files.number("checkpoint_id"), modified, np.flatnonzero(unread), CLOCKS_APART_S
    )
    unread &= ~(never_completed & (claims == 1) & seen)
    task_owned = is_place(*TASK_OWNED)
    bad_time = ~known(modified) | later(modified, files.of_directory("future_from"))
    earlier = later(as_of, since_before)
    completed_between = later(last_completed_at, since_before) & ~later(last_completed_at, as_of)
    # Without a second audit, a file could be needed by a checkpoint that completed while the root
    # was listed.
    ended_recently = later(last_completed_at, guarded_from) & terminal
    ended_at = files.of_directory("ended_at")
    left_until = np.where(
        known(ended_at), ended_at + (LEFT_AFTER_S + CLOCKS_APART_S) * US_PER_S, UNKNOWN
    )
    live, waste = facts.live >= 0, facts.waste >= 0
    database = is_place(DATABASE) & ~(waste & terminal)
    if database.any():
        database &= ~_is_left_behind(files)
    was_referred = arrays.flags(pc.is_valid(files.text("vanished_referrer"))) | arrays.flags(
        pc.is_valid(facts.newly_vanished)
    )
    return [
        (live & facts.snapshot, LIVE, "snapshot"),
        (live, LIVE, "referred"),
        (facts.restored_from, LIVE, "restored_from"),
        (facts.excluded, KEPT, "excluded"),
        (is_place("unowned"), KEPT, "no_job_level"),
        (
            is_place("metadata") & ~arrays.flags(pc.is_valid(files.text("job_id"))),
            KEPT,
            "no_job_level",
        ),
        (is_place("savepoint"), KEPT, "savepoint"),
        (~arrays.flags(is_candidate(place)), KEPT, "unknown_name"),
        (facts.gone, KEPT, "vanished"),
        (unread, KEPT, "unreadable_snapshot"),
        (bad_time, KEPT, "bad_time"),
        (facts.other_spelling, KEPT, "other_spelling"),
        (claims > 1, KEPT, "two_owners"),
        ((claims == 0) & (suspects > 0), KEPT, "writer_unknown"),
        ((claims == 0) | ~seen, KEPT, "job_unseen"),
        (task_owned & ~terminal, KEPT, "task_owned"),
        (task_owned & files.is_of_directory("job_needed"), KEPT, "task_owned_needed"),
        (task_owned & files.is_of_directory("any_needed"), KEPT, "task_owned_unknown"),
        (database, KEPT, "database"),
        (facts.unread_referrer, KEPT, "referrer_unread"),
        (was_referred, KEPT, "was_referred"),
        (
            (unlisted & files.is_of_directory("is_lost"))
            | files.is_of_directory("is_lost_elsewhere"),
            KEPT,
            "referrer_lost",
        ),
        (unlisted, KEPT, "was_unlisted"),
        (later(age_from, guarded_from), RECENT, "age_guard"),
        (known(in_flight_since) & (age_from >= in_flight_since), RECENT, "in_flight"),
        (waste & ended_recently, RECENT, "ended_recently"),
        (~waste & ~earlier, RECENT, "first_audit"),
        (~waste & ~terminal & ~completed_between, RECENT, "no_checkpoint_since"),
        (files.is_of_directory("in_doubt"), KEPT, "in_doubt"),
        (files.is_of_directory("last_unfound"), KEPT, "last_unfound"),
        (~waste & later(files.of_directory("began_at"), modified), KEPT, "earlier_run"),
        (~waste & terminal & later(modified, left_until), KEPT, "later_run"),
        (facts.attested, RETAINED_WASTE, "attested_dead"),
        (waste, RETAINED_WASTE, "superseded"),
        (np.ones(files.rows.num_rows, np.bool_), ORPHAN, "unreferenced"),
    ]


def _is_left_behind(files: _Files) -> Flags:
    """Files of ForSt databases that no attempt of today can use.

    The database of an attempt consists of what that attempt wrote, and of what the checkpoint that
    it was restored from names. So a file goes that was written before all attempts of today were
    deployed, and that no checkpoint was ever seen to name. What an earlier run under the same id
    wrote may be read by an attempt whose checkpoints hold copies (Flink's
    ``DataTransferStrategyBuilder``), which nothing tells.
    """
    apart, modified = CLOCKS_APART_S * US_PER_S, files.number("modified")
    started_at, redeployed_at, ended_at = (
        files.of_directory(name) for name in ("started_at", "redeployed_at", "ended_at")
    )
    since = np.where(known(started_at), started_at + apart, UNKNOWN)
    until = np.where(known(redeployed_at), redeployed_at - apart, UNKNOWN)
    was_named = known(files.number("last_referred_at"))
    is_of_before = later(modified, since) & later(until, modified) & ~was_named
    return np.where(files.is_of_directory("terminal"), known(ended_at), is_of_before)


def _kinds(files: _Files, failed: FailedCheckpoints, orphans: Numbers) -> pa.Array:
    """Why an orphan is one, else null. A file in ``shared/`` only shows it by its time."""
    of_one, lost = failed.of_number_or_time(
        files.at, files.number("checkpoint_id"), files.number("modified"), orphans
    )
    merged = arrays.flags(pc.is_in(files.text("place"), value_set=pa.array(MERGED)))
    database = arrays.flags(pc.equal(files.text("place"), DATABASE))
    unfinished = np.zeros(files.rows.num_rows, np.bool_)
    unfinished[orphans] = arrays.flags(
        pc.match_substring(files.text("path").take(pa.array(orphans)), UNFINISHED_METADATA)
    )
    undeleted = arrays.flags(pc.is_valid(files.text("last_referrer")))
    dead = files.is_of_directory("terminal") & ~files.is_of_directory("job_needed")
    kind_codes = np.full(files.rows.num_rows, -1)
    kind_codes[orphans] = _KINDS.index("unknown")
    for which, kind in (
        (dead, "dead_job"),
        (undeleted, "undeleted"),
        (of_one, "failed_checkpoint"),
        (lost, "unacknowledged"),
        (merged, "merging_remainder"),
        (database & ~dead, "ended_attempt"),
        (unfinished, "unfinished_metadata"),
    ):
        kind_codes[orphans[which[orphans]]] = _KINDS.index(kind)
    return arrays.taken(pa.array(_KINDS), kind_codes)
