"""The verdict on every file: an orphan only if there is no reason to keep it."""

from dataclasses import dataclass
from typing import NamedTuple

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
    is_later,
    known,
    numbers_of,
)
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
from spark_jobs.storage.previous_audit import JOB_DIRECTORIES, REFERRED
from spark_jobs.storage_words import KEPT, KINDS, LIVE, ORPHAN, RECENT, RETAINED_WASTE

_TEXT, _INT = pa.string(), pa.int64()
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
"""Directories with files, with the facts about their audit, root and job. They are numbered in this
order.
"""
NAMERS = schema(checkpoint_no="int", goes="flag")
"""Checkpoints that are waste. A row with ``goes`` means that the ``_metadata`` may be deleted, a
row without it that a file to which the checkpoint refers is kept.
"""
CHECKPOINTS = schema(audit_id="text", metadata_path="text", is_live="flag", is_attested="flag")
"""In the order of the numbers in ``referrers`` of files."""
PATHS = schema(audit_id="text", path="text")

TASK_LOST = (
    "TASK_FAILURE",
    "JOB_FAILURE",
    "JOB_FAILOVER_REGION",
    "CHECKPOINT_COORDINATOR_SUSPEND",
    "TASK_CHECKPOINT_FAILURE",
)
"""Failures after which uploads may be left that nobody acknowledged."""

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
    """Files of one partition. ``at``: index of each file's directory in ``directories``."""

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
    live: Numbers
    """Number of a live checkpoint that refers to the file, -1 if there is none."""
    waste: Numbers
    """Number of a checkpoint that is waste and refers to the file, -1 if there is none."""
    snapshot: Flags
    """The file is the ``_metadata`` of a checkpoint that was read."""
    other_spelling: Flags
    gone: Flags
    unread_referrer: Flags
    """A checkpoint that was not read, and may still exist, refers to the file."""
    restored_from: Flags
    attested: Flags
    """Waste of a job that was attested to be dead refers to the file."""
    excluded: Flags
    newly_vanished: pa.Array
    """The ``_metadata`` of a vanished checkpoint that referred to the file, or null."""

    @property
    def referred(self) -> Flags:
        return (self.live >= 0) | (self.waste >= 0)


def judge_files(parts: Tables, shared: Tables) -> dict[str, pa.Table]:
    """``SCHEMAS``. ``parts``: files, unread (references), perhaps alike (files with other names).
    ``shared``: directories, checkpoints, restored, excluded, gone, gone_before, vanished.
    """
    rows, directories = parts["files"], shared["directories"]
    checkpoints = shared["checkpoints"]
    files = _Files(
        rows,
        directories,
        arrays.require_places(_directory_keys(rows), _directory_keys(directories)),
    )
    unread = parts["unread"]
    unread_keys = arrays.texts(unread, "audit_id", "metadata_path")
    is_gone, is_vanished = (
        pc.is_in(unread_keys, value_set=arrays.texts(shared[name], "audit_id", "metadata_path"))
        for name in ("gone_before", "vanished")
    )
    # For an unlisted file, the next audit must know that its referrer vanished.
    is_settled = pc.and_(is_gone, pc.or_(pc.invert(is_vanished), unread.column("is_covered")))
    vanished, pending = unread.filter(is_vanished), unread.filter(pc.invert(is_settled))
    facts = _facts(files, parts.get("alike", PATHS.empty_table()), vanished, pending, shared)
    failed = FailedCheckpoints(column(directories, "failed"), TASK_LOST)
    was_unlisted = known(files.number("unlisted_at"))
    # Such a file then counts as never found unreferenced.
    is_new_again = was_unlisted & _is_listed_again(files)
    since_before = np.where(was_unlisted, UNKNOWN, _since_before(files))
    rules = _rules(files, facts, failed, since_before, was_unlisted & ~is_new_again)
    rule_no = np.full(rows.num_rows, len(rules) - 1)
    for number, rule in reversed(list(enumerate(rules))):
        rule_no[rule.condition] = number
    verdict = pa.array([rule.verdict for rule in rules]).take(pa.array(rule_no))
    reason = pa.array([rule.reason for rule in rules]).take(pa.array(rule_no))
    kind = _kinds(files, failed, np.flatnonzero(arrays.flags(pc.equal(verdict, ORPHAN))))
    judged = pa.table(
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
            **_state(files, facts, since_before, checkpoints, is_new_again),
        }
    )
    is_live = pc.equal(verdict, LIVE)
    cube = totals.cube(
        pa.table({"directory_no": files.at, "verdict": verdict, "reason": reason, "kind": kind}),
        rows,
    )
    return {
        "storage_live": judged.filter(is_live).select(_FILE.names).cast(_FILE),
        "not_live": judged.filter(pc.invert(is_live))
        .select(SCHEMAS["not_live"].names)
        .cast(SCHEMAS["not_live"]),
        "storage_pending": pending.select(REFERRED.names),
        "storage_lost": _lost_directories(vanished.filter(vanished.column("is_covered")), rows),
        "cube": cube,
    }


def find_namers(parts: Tables, shared: Tables) -> dict[str, pa.Table]:
    """``NAMERS``, from a first verdict on files to which waste refers."""
    rows, checkpoints = parts["files"], shared["checkpoints"]
    file_no, checkpoint_no = _referrers(rows, _at_snapshots(rows, checkpoints))
    is_waste = ~arrays.flags_of(checkpoints, "is_live")[checkpoint_no]
    file_no, checkpoint_no = file_no[is_waste], checkpoint_no[is_waste]
    referred = rows.take(pa.array(np.unique(file_no)))
    not_live = judge_files({**parts, "files": referred}, shared)["not_live"]
    at = arrays.places_in(rows.take(pa.array(file_no)), not_live, *PATHS.names)
    verdict = arrays.take(column(not_live, "verdict"), at)
    is_own = arrays.flags(is_metadata(column(rows, "path").take(pa.array(file_no))))
    goes = is_own & arrays.flags(pc.equal(verdict, RETAINED_WASTE))
    matters = goes | arrays.flags(pc.equal(verdict, KEPT))
    namers = pa.table(
        {"checkpoint_no": checkpoint_no[matters], "goes": goes[matters]}, schema=NAMERS
    )
    return {"namers": arrays.without_repeated(namers, NAMERS.names)}


def _lost_directories(references: pa.Table, rows: pa.Table) -> pa.Table:
    """Job directories of references without a listed file, now forgotten."""
    paths = references.select(PATHS.names)
    if paths.num_rows:
        paths = paths.filter(pa.array(~arrays.are_in(paths, rows, *PATHS.names)))
    directories = with_places(paths).select(JOB_DIRECTORIES.names)
    return arrays.distinct(
        directories.filter(pc.is_valid(directories.column("job_directory"))), JOB_DIRECTORIES.names
    )


def _is_listed_again(files: _Files) -> Flags:
    """Whether files are listed again, at least for the age guard, and no referrer is forgotten."""
    since, guarded_from = files.number("listed_since"), files.of_directory("guarded_from")
    is_long = known(since) & (since <= guarded_from)
    return is_long & ~files.is_of_directory("is_lost") & ~files.is_of_directory("in_doubt")


def _directory_keys(rows: pa.Table) -> pa.Array:
    directory = pc.fill_null(column(rows, "job_directory"), "")
    return pc.binary_join_element_wise(column(rows, "root_no").cast(_TEXT), directory, "\0")


def _facts(
    files: _Files, alike: pa.Table, vanished: pa.Table, pending: pa.Table, shared: Tables
) -> _Facts:
    """``vanished``, ``pending``: earlier references, of vanished and of unread checkpoints."""
    rows, checkpoints = files.rows, shared["checkpoints"]
    size = rows.num_rows
    snapshot = _at_snapshots(rows, checkpoints)
    file_no, checkpoint_no = _referrers(rows, snapshot)
    is_live = arrays.flags_of(checkpoints, "is_live")[checkpoint_no]
    is_attested = arrays.flags_of(checkpoints, "is_attested")[checkpoint_no]
    excluded = np.zeros(size, np.bool_)
    for row in shared["excluded"].to_pylist():
        below = pc.and_(
            are_below(column(rows, "path"), row["directory"]),
            pc.equal(column(rows, "audit_id"), row["audit_id"]),
        )
        excluded |= arrays.flags(below)
    restored = shared["restored"]
    restored_from = np.zeros(size, np.bool_)
    if restored.num_rows:
        directories = pc.binary_join_element_wise(
            column(rows, "audit_id"), directories_of(column(rows, "path")), "\0"
        )
        restored_from = (
            arrays.find_places(directories, arrays.texts(restored, "audit_id", "directory")) >= 0
        )
    by_path = vanished.group_by(PATHS.names).aggregate([("metadata_path", "max")])
    return _Facts(
        live=_largest_number(file_no[is_live], checkpoint_no[is_live], size),
        waste=_largest_number(file_no[~is_live], checkpoint_no[~is_live], size),
        snapshot=snapshot >= 0,
        other_spelling=arrays.are_in(rows, alike, *PATHS.names),
        gone=_at_snapshots(rows, shared["gone"]) >= 0,
        unread_referrer=arrays.are_in(rows, pending, *PATHS.names),
        restored_from=restored_from,
        attested=arrays.mark(file_no[is_attested], size),
        excluded=excluded,
        newly_vanished=arrays.take(
            column(by_path, "metadata_path_max"), arrays.places_in(rows, by_path, *PATHS.names)
        ),
    )


def _largest_number(file_no: Numbers, checkpoint_no: Numbers, size: int) -> Numbers:
    return np.maximum(arrays.maxima(file_no, checkpoint_no, size), -1)


def _at_snapshots(rows: pa.Table, snapshots: pa.Table) -> Numbers:
    """Index in ``snapshots`` or -1. Only _metadata, which are few, are looked up."""
    index = np.full(rows.num_rows, -1)
    at = np.flatnonzero(arrays.flags(is_metadata(column(rows, "path"))))
    index[at] = arrays.find_places(
        arrays.texts(rows.take(pa.array(at)), "audit_id", "path"),
        arrays.texts(snapshots, "audit_id", "metadata_path"),
    )
    return index


def _referrers(rows: pa.Table, snapshot: Numbers) -> tuple[Numbers, Numbers]:
    """(file, checkpoint) by reference; a _metadata also with its own checkpoint."""
    referrers = column(rows, "referrers")
    file_no = np.concatenate(
        [np.asarray(pc.list_parent_indices(referrers)), np.flatnonzero(snapshot >= 0)]
    )
    checkpoint_no = np.concatenate(
        [np.asarray(pc.list_flatten(referrers)), snapshot[snapshot >= 0]]
    )
    return file_no.astype(np.int64), checkpoint_no.astype(np.int64)


def _since_before(files: _Files) -> Numbers:
    since, referred_at = files.number("unreferenced_since"), files.number("last_referred_at")
    return np.where(
        is_later(since, referred_at) | ~known(since) | ~known(referred_at), since, UNKNOWN
    )


def _state(
    files: _Files, facts: _Facts, since_before: Numbers, checkpoints: pa.Table, is_new_again: Flags
) -> dict[str, pa.Array]:
    unlisted_at, listed_since = (
        np.where(is_new_again, UNKNOWN, files.number(name))
        for name in ("unlisted_at", "listed_since")
    )
    as_of = files.of_directory("as_of")
    # An audit in doubt may have missed a referrer: it proves nothing, but earlier proofs stay
    # valid.
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
            arrays.take(column(checkpoints, "metadata_path"), referrer),
            files.text("last_referrer"),
        ),
        "vanished_referrer": pc.coalesce(files.text("vanished_referrer"), facts.newly_vanished),
        "unlisted_at": arrays.optional(unlisted_at, INSTANT),
        "listed_since": arrays.optional(listed_since, INSTANT),
    }


class _Rule(NamedTuple):
    condition: Flags
    verdict: str
    reason: str


def _rules(
    files: _Files, facts: _Facts, failed: FailedCheckpoints, since_before: Numbers, unlisted: Flags
) -> list[_Rule]:
    """The first true condition decides. Comparisons with unknown values are false."""
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
    bad_time = ~known(modified) | is_later(modified, files.of_directory("future_from"))
    earlier = is_later(as_of, since_before)
    completed_between = is_later(last_completed_at, since_before) & ~is_later(
        last_completed_at, as_of
    )
    # A checkpoint that completed while the root was listed may need the file: the next audit sees
    # it.
    ended_recently = is_later(last_completed_at, guarded_from) & terminal
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
    rules = [
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
        (is_later(age_from, guarded_from), RECENT, "age_guard"),
        (known(in_flight_since) & (age_from >= in_flight_since), RECENT, "in_flight"),
        (waste & ended_recently, RECENT, "ended_recently"),
        (~waste & ~earlier, RECENT, "first_audit"),
        (~waste & ~terminal & ~completed_between, RECENT, "no_checkpoint_since"),
        (files.is_of_directory("in_doubt"), KEPT, "in_doubt"),
        (files.is_of_directory("last_unfound"), KEPT, "last_unfound"),
        (~waste & is_later(files.of_directory("began_at"), modified), KEPT, "earlier_run"),
        (~waste & terminal & is_later(modified, left_until), KEPT, "later_run"),
        (facts.attested, RETAINED_WASTE, "attested_dead"),
        (waste, RETAINED_WASTE, "superseded"),
        (np.ones(files.rows.num_rows, np.bool_), ORPHAN, "unreferenced"),
    ]
    return [_Rule(*rule) for rule in rules]


def _is_left_behind(files: _Files) -> Flags:
    """Whether no present attempt can use a file of a ForSt database: it was written before all were
    deployed, and no audit saw a checkpoint refer to it. An attempt's database has files that it
    wrote, and files of the checkpoint from which it was restored. Files of an earlier run under the
    same id may be used: an attempt's checkpoints may hold copies of them (Flink's
    ``DataTransferStrategyBuilder``).
    """
    apart, modified = CLOCKS_APART_S * US_PER_S, files.number("modified")
    started_at, redeployed_at, ended_at = (
        files.of_directory(name) for name in ("started_at", "redeployed_at", "ended_at")
    )
    since = np.where(known(started_at), started_at + apart, UNKNOWN)
    until = np.where(known(redeployed_at), redeployed_at - apart, UNKNOWN)
    was_named = known(files.number("last_referred_at"))
    is_of_before = is_later(modified, since) & is_later(until, modified) & ~was_named
    return np.where(files.is_of_directory("terminal"), known(ended_at), is_of_before)


def _kinds(files: _Files, failed: FailedCheckpoints, orphans: Numbers) -> pa.Array:
    """``KINDS`` of orphans. In ``shared/``, only its time ties a file to a failed checkpoint."""
    is_failed, is_lost = failed.of_number_or_time(
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
    for flags, kind in (
        (dead, "dead_job"),
        (undeleted, "undeleted"),
        (is_failed, "failed_checkpoint"),
        (is_lost, "unacknowledged"),
        (merged, "merging_remainder"),
        (database & ~dead, "ended_attempt"),
        (unfinished, "unfinished_metadata"),
    ):
        kind_codes[orphans[flags[orphans]]] = _KINDS.index(kind)
    return arrays.take(pa.array(_KINDS), kind_codes)
