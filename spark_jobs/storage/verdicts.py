"""The verdict on every file. What keeps a file comes first; a file is an orphan only when nothing is left to keep it.

needed     referred to by a retained checkpoint that is not waste, is one itself, or restored from by a job that may run
kept       not a candidate, or something about it is not known
waste      referred to by waste only
young      everything speaks against it but time
orphan     nothing speaks for it
"""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.audit_tables import STORAGE_FILE
from spark_jobs.storage.keys import FILE_KEY, looked_up, with_file_key
from spark_jobs.storage.places import MERGED, TASK_OWNED, directory_of, is_candidate, is_metadata
from spark_jobs.storage_words import KEPT, LIVE, ORPHAN, RETAINED_WASTE, YOUNG

FUTURE_AFTER_H = 1
"""A file that was written while the listing ran is young; one from later than this has a clock that cannot be trusted."""

TASK_LOST = ("TASK_FAILURE", "JOB_FAILURE", "JOB_FAILOVER_REGION", "CHECKPOINT_COORDINATOR_SUSPEND", "TASK_CHECKPOINT_FAILURE")
"""Ends of a checkpoint that leave uploads which nobody acknowledged."""
LEFT_AFTER_S = 60
"""How long an upload may go on after its checkpoint has ended."""

_JUDGED = [*(column.name for column in STORAGE_FILE.columns), "segmented", "live_segment_bytes"]


@dataclass(frozen=True)
class Known:
    """What decides besides the files: small frames by root or job, and frames by file that stand for few files."""

    roots: DataFrame
    owners: DataFrame
    needed_jobs: DataFrame
    """(audit_id, job_id) whose task-owned files a retained snapshot may need."""
    all_needed: DataFrame
    """(audit_id) in which a snapshot lies whose job nobody can tell."""
    restored: DataFrame
    """(audit_id, directory)"""
    doubted: DataFrame
    """(audit_id)"""
    spellings: DataFrame
    """(audit_id, path) that another spelling may mean."""
    vanished_files: DataFrame
    """(audit_id, path, vanished_referrer) as of this audit."""
    vanished: DataFrame
    """(audit_id, metadata_path) listed, and gone when read."""
    live_segments: DataFrame


def referrers(resolved: DataFrame, checkpoints: DataFrame) -> DataFrame:
    """Per path: a live checkpoint and a waste one that refer to it, if any, and whether it is itself the ``_metadata`` of one."""
    verdicts = checkpoints.select("audit_id", "metadata_path", "verdict")
    references = resolved.join(verdicts, ["audit_id", "metadata_path"])
    of_files = references.select("audit_id", "path", "metadata_path", "verdict", F.lit(False).alias("snapshot"), "segmented")
    themselves = verdicts.select("audit_id", F.col("metadata_path").alias("path"), "metadata_path", "verdict", F.lit(True), F.lit(False))
    return with_file_key(of_files.union(themselves)).groupBy(*FILE_KEY).agg(
        F.max(F.when(F.col("verdict") == LIVE, F.col("metadata_path"))).alias("live_referrer"),
        F.max(F.when(F.col("verdict") != LIVE, F.col("metadata_path"))).alias("waste_referrer"),
        F.bool_or("snapshot").alias("snapshot"),
        F.bool_or("segmented").alias("segmented"),
    )  # fmt: skip


def judged_files(files: DataFrame, referrers: DataFrame, known: Known) -> DataFrame:
    """``storage_file`` columns of every listed file, and ``segmented`` and ``live_segment_bytes`` of merged ones."""
    judged = _with_facts(files, referrers, known)
    as_of, age_from = F.col("as_of"), F.greatest("modified", "first_seen_at")
    referred = F.col("live_referrer").isNotNull() | F.col("waste_referrer").isNotNull()
    # An audit in doubt may have missed a referrer: it proves nothing, but takes back nothing either.
    since = F.when(referred, F.lit(None)).otherwise(F.coalesce(_since_before(), F.when(~F.col("in_doubt"), as_of)))
    dated = judged.withColumns(
        {
            "was_unreferenced_since": _since_before(),
            "unreferenced_since": since.cast("timestamp"),
            "last_referrer": F.coalesce("live_referrer", "waste_referrer", "last_referrer"),
            "last_referred_at": F.when(referred, as_of).otherwise(F.col("last_referred_at")),
            "vanished_referrer": F.coalesce("vanished_referrer", "newly_vanished"),
            "age_from": age_from,
            "guarded_from": as_of - F.make_dt_interval(hours=F.col("age_guard_h").cast("int")),
        }
    )
    decided = dated.withColumn("decided", _decided())
    said = decided.withColumns({"verdict": F.col("decided.verdict"), "reason": F.col("decided.reason")})
    # Nothing else is kept of a file: what decided is the same for all of a job, and large.
    return said.withColumn("kind", F.when(F.col("verdict") == ORPHAN, _kind())).select(*_JUDGED)


def _since_before() -> Column:
    """When an earlier audit found it unreferenced, unless it was referred to since."""
    return F.when(F.coalesce(F.col("unreferenced_since") > F.col("last_referred_at"), F.lit(True)), F.col("unreferenced_since"))


def _with_facts(files: DataFrame, referrers: DataFrame, known: Known) -> DataFrame:
    # What holds of a whole audit is joined to its roots: every join that files go through costs.
    roots = (
        known.roots.select("audit_id", "root", "as_of", "age_guard_h")
        .join(known.all_needed.withColumn("any_needed", F.lit(True)), "audit_id", "left")
        .join(known.doubted.withColumn("in_doubt", F.lit(True)), "audit_id", "left")
    )
    flagged = (
        files.join(looked_up(referrers), FILE_KEY, "left")
        .join(looked_up(with_file_key(known.spellings).withColumn("other_spelling", F.lit(True))), FILE_KEY, "left")
        .join(looked_up(with_file_key(known.vanished_files).withColumnRenamed("vanished_referrer", "newly_vanished")), FILE_KEY, "left")
        .join(looked_up(with_file_key(known.live_segments)), FILE_KEY, "left")
        .join(F.broadcast(roots), ["audit_id", "root"])
        .join(F.broadcast(known.owners), ["audit_id", "root", "job_id"], "left")
        .join(F.broadcast(known.needed_jobs.withColumn("job_needed", F.lit(True))), ["audit_id", "job_id"], "left")
        .withColumn("directory", directory_of(F.col("path")))
        .join(F.broadcast(known.restored.withColumn("restored_from", F.lit(True))), ["audit_id", "directory"], "left")
        .join(
            F.broadcast(known.vanished.select("audit_id", F.col("metadata_path").alias("path"), F.lit(True).alias("gone"))),
            ["audit_id", "path"],
            "left",
        )
    )
    flags = ["snapshot", "segmented", "other_spelling", "job_needed", "any_needed", "in_doubt", "restored_from", "gone", "terminal", "seen"]
    return flagged.fillna(False, flags).fillna(0, ["claims"])


def _decided() -> Column:
    """struct(verdict, reason): the first line that is true."""
    place, as_of = F.col("place"), F.col("as_of")
    never_completed = F.exists(_failed(), lambda end: end.checkpoint_id == F.col("checkpoint_id"))
    unread = (
        is_metadata(F.col("path"))
        & ~F.col("snapshot")
        & ~F.coalesce(never_completed & (F.col("claims") == 1) & F.col("seen"), F.lit(False))
    )
    task_owned = place.isin(*TASK_OWNED) & (F.col("job_needed") | F.col("any_needed") | ~F.col("terminal"))
    bad_time = F.col("modified").isNull() | (F.col("modified") > as_of + F.make_dt_interval(hours=F.lit(FUTURE_AFTER_H)))
    earlier = F.coalesce(F.col("was_unreferenced_since") < as_of, F.lit(False))
    completed_between = F.coalesce(
        (F.col("last_completed_at") > F.col("was_unreferenced_since")) & (F.col("last_completed_at") <= as_of), F.lit(False)
    )
    # What no two audits have to confirm could be needed by a checkpoint that completed while the root was listed.
    ended_lately = F.coalesce(F.col("last_completed_at") > F.col("guarded_from"), F.lit(False)) & F.col("terminal")
    lines = (
        (F.col("live_referrer").isNotNull() & F.col("snapshot"), LIVE, "snapshot"),
        (F.col("live_referrer").isNotNull(), LIVE, "referred"),
        (F.col("restored_from"), LIVE, "restored_from"),
        (place == "unowned", KEPT, "no_job_level"),
        ((place == "metadata") & F.col("job_id").isNull(), KEPT, "no_job_level"),
        (place == "savepoint", KEPT, "savepoint"),
        (~is_candidate(place), KEPT, "unknown_name"),
        (F.col("gone"), KEPT, "vanished"),
        (unread, KEPT, "unreadable_snapshot"),
        (bad_time, KEPT, "bad_time"),
        (F.col("claims") > 1, KEPT, "two_owners"),
        ((F.col("claims") == 0) | ~F.col("seen"), KEPT, "job_unseen"),
        (F.col("other_spelling"), KEPT, "other_spelling"),
        (task_owned, KEPT, "task_owned"),
        (F.col("vanished_referrer").isNotNull(), KEPT, "was_referred"),
        (F.col("age_from") > F.col("guarded_from"), YOUNG, "age_guard"),
        (F.coalesce(F.col("age_from") >= F.col("in_flight_since"), F.lit(False)), YOUNG, "in_flight"),
        (F.col("waste_referrer").isNotNull() & ended_lately, YOUNG, "ended_lately"),
        (F.col("waste_referrer").isNull() & ~earlier, YOUNG, "first_audit"),
        (F.col("waste_referrer").isNull() & ~F.col("terminal") & ~completed_between, YOUNG, "no_checkpoint_since"),
        (F.col("in_doubt"), KEPT, "in_doubt"),
        (F.col("waste_referrer").isNotNull(), RETAINED_WASTE, "superseded"),
    )
    first, *others = lines
    decided = F.when(first[0], _said(*first[1:]))
    for condition, verdict, reason in others:
        decided = decided.when(condition, _said(verdict, reason))
    return decided.otherwise(_said(ORPHAN, "unreferenced"))


def _said(verdict: str, reason: str) -> Column:
    return F.struct(F.lit(verdict).alias("verdict"), F.lit(reason).alias("reason"))


def _failed() -> Column:
    return F.coalesce("failed", F.array())


def _kind() -> Column:
    """Why an orphan is one. A file in ``shared/`` tells it by its time only."""
    of_its_checkpoint = F.filter(_failed(), lambda end: end.checkpoint_id == F.col("checkpoint_id"))
    of_its_time = F.filter(
        _failed(),
        lambda end: (
            (F.col("modified") >= end.triggered_at)
            & (F.col("modified") <= F.coalesce(end.ended_at, end.triggered_at) + F.make_dt_interval(secs=F.lit(LEFT_AFTER_S)))
        ),
    )
    of = F.when(F.col("checkpoint_id").isNotNull(), of_its_checkpoint).otherwise(of_its_time)
    lost = F.exists(of, lambda end: F.coalesce(end.reason, F.lit("")).isin(*TASK_LOST))
    return (
        F.when(F.col("place").isin(*MERGED), "merging_remainder")
        .when(lost, "unacknowledged")
        .when(F.size(of) > 0, "failed_checkpoint")
        .when(F.col("last_referrer").isNotNull(), "undeleted")
        .when(F.col("terminal") & ~F.col("job_needed"), "dead_job")
        .otherwise("unknown")
    )
