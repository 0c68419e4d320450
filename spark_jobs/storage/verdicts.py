"""The verdict on every file. What keeps a file comes first; a file is an orphan only when nothing is left to keep it.

needed     referred to by a retained checkpoint that is not waste, is one itself, or restored from by a job that may run
kept       not a candidate, or something about it is not known
waste      referred to by waste only
young      everything speaks against it but time
orphan     nothing speaks for it
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.audit_tables import STORAGE_FILE
from spark_jobs.storage.keys import FILE_KEY, looked_up
from spark_jobs.storage.layout_columns import (
    MERGED,
    TASK_OWNED,
    directory_of,
    is_candidate,
    is_metadata,
    job_directory,
)
from spark_jobs.storage.owners import CLOCKS_APART_S, is_of_time
from spark_jobs.storage_words import KEPT, KINDS, LIVE, ORPHAN, RETAINED_WASTE, YOUNG

TASK_LOST = ("TASK_FAILURE", "JOB_FAILURE", "JOB_FAILOVER_REGION", "CHECKPOINT_COORDINATOR_SUSPEND", "TASK_CHECKPOINT_FAILURE")
"""Ends of a checkpoint that leave uploads which nobody acknowledged."""

_OF_DIRECTORY = ["audit_id", "root", "root_no", "job_directory", "job_id", "cluster"]
_OF_CODES = ["verdict", "reason", "kind"]
_JUDGED = [
    *(column.name for column in STORAGE_FILE.columns if column.name not in _OF_DIRECTORY + _OF_CODES),
    "held_no", "line_no", "kind_no", "segmented", "live_segment_bytes",
]  # fmt: skip
_KINDS = list(KINDS)


def judged_files(files: DataFrame, facts: DataFrame, directories: DataFrame, restored: DataFrame) -> DataFrame:
    """Every listed file with its verdict, in numbers that ``spelled_out`` reads, and what merged ones hold."""
    judged = _with_facts(files, facts, directories, restored)
    as_of = F.col("as_of")
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
            "age_from": F.greatest("modified", "first_seen_at"),
        }
    )
    lines = _lines()
    decided = dated.withColumn("line_no", _first_true([condition for condition, _, _ in lines]))
    orphan = F.col("line_no") == [verdict for _, verdict, _ in lines].index(ORPHAN)
    # Nothing else is kept of a file: what decided is the same for all of a job, and large.
    return decided.withColumn("kind_no", F.when(orphan, _kind_no())).select(*_JUDGED)


def spelled_out(rows: DataFrame, directories: DataFrame) -> DataFrame:
    """Rows by ``held_no``, ``line_no`` and ``kind_no`` with the words: verdict, reason, kind, and the columns of the directory."""
    lines = _lines()
    words = {"verdict": [verdict for _, verdict, _ in lines], "reason": [reason for _, _, reason in lines]}
    named = rows.join(F.broadcast(directories.select("held_no", *_OF_DIRECTORY)), "held_no")
    kind = F.get(F.array(*map(F.lit, _KINDS)), F.col("kind_no"))
    return named.withColumns({**{name: F.get(F.array(*map(F.lit, of)), F.col("line_no")) for name, of in words.items()}, "kind": kind})


def _since_before() -> Column:
    """When an earlier audit found it unreferenced, unless it was referred to since."""
    return F.when(F.coalesce(F.col("unreferenced_since") > F.col("last_referred_at"), F.lit(True)), F.col("unreferenced_since"))


def _with_facts(files: DataFrame, facts: DataFrame, directories: DataFrame, restored: DataFrame) -> DataFrame:
    known_there = directories.drop("audit_id", "root", "files", "job_id").withColumnsRenamed(
        {"root_no": "of_root", "job_directory": "of_job"}
    )
    in_job = job_directory(F.col("path"), F.col("place"), F.col("job_id"))
    same = (F.col("root_no") == F.col("of_root")) & in_job.eqNullSafe(F.col("of_job"))
    joined = (
        files.join(looked_up(facts), FILE_KEY, "left")
        .join(F.broadcast(known_there), same)
        .withColumn("directory", directory_of(F.col("path")))
        .join(F.broadcast(restored.withColumn("restored_from", F.lit(True))), ["audit_id", "directory"], "left")
    )
    return joined.fillna(False, ["snapshot", "segmented", "other_spelling", "restored_from", "gone"])


def _first_true(conditions: list[Column]) -> Column:
    """The number of the first that is true; the last is."""
    found = F.when(conditions[0], F.lit(0))
    for number, condition in enumerate(conditions[1:-1], start=1):
        found = found.when(condition, F.lit(number))
    return found.otherwise(F.lit(len(conditions) - 1))


def _lines() -> list[tuple[Column, str, str]]:
    """Condition, verdict, reason: the first that is true decides."""
    place, as_of = F.col("place"), F.col("as_of")
    never_completed = F.exists(
        _failed(), lambda end: (end.checkpoint_id == F.col("checkpoint_id")) & is_of_time(F.col("modified"), end, CLOCKS_APART_S)
    )
    unread = (
        is_metadata(F.col("path"))
        & ~F.col("snapshot")
        & ~F.coalesce(never_completed & (F.col("claims") == 1) & F.col("seen"), F.lit(False))
    )
    task_owned = place.isin(*TASK_OWNED) & (F.col("job_needed") | F.col("any_needed") | ~F.col("terminal"))
    bad_time = F.col("modified").isNull() | (F.col("modified") > F.col("future_from"))
    earlier = F.coalesce(F.col("was_unreferenced_since") < as_of, F.lit(False))
    completed_between = F.coalesce(
        (F.col("last_completed_at") > F.col("was_unreferenced_since")) & (F.col("last_completed_at") <= as_of), F.lit(False)
    )
    # What no two audits have to confirm could be needed by a checkpoint that completed while the root was listed.
    ended_lately = F.coalesce(F.col("last_completed_at") > F.col("guarded_from"), F.lit(False)) & F.col("terminal")
    return [
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
        (F.col("other_spelling"), KEPT, "other_spelling"),
        (F.col("claims") > 1, KEPT, "two_owners"),
        ((F.col("claims") == 0) & (F.col("suspects") > 0), KEPT, "writer_unknown"),
        ((F.col("claims") == 0) | ~F.col("seen"), KEPT, "job_unseen"),
        (task_owned, KEPT, "task_owned"),
        (F.col("vanished_referrer").isNotNull(), KEPT, "was_referred"),
        (F.col("age_from") > F.col("guarded_from"), YOUNG, "age_guard"),
        (F.coalesce(F.col("age_from") >= F.col("in_flight_since"), F.lit(False)), YOUNG, "in_flight"),
        (F.col("waste_referrer").isNotNull() & ended_lately, YOUNG, "ended_lately"),
        (F.col("waste_referrer").isNull() & ~earlier, YOUNG, "first_audit"),
        (F.col("waste_referrer").isNull() & ~F.col("terminal") & ~completed_between, YOUNG, "no_checkpoint_since"),
        (F.col("in_doubt"), KEPT, "in_doubt"),
        (F.col("waste_referrer").isNotNull(), RETAINED_WASTE, "superseded"),
        (F.lit(True), ORPHAN, "unreferenced"),
    ]


def _failed() -> Column:
    return F.coalesce("failed", F.array())


def _kind_no() -> Column:
    """Why an orphan is one. A file in ``shared/`` tells it by its time only."""
    of_its_checkpoint = F.filter(_failed(), lambda end: end.checkpoint_id == F.col("checkpoint_id"))
    of_its_time = F.filter(_failed(), lambda end: is_of_time(F.col("modified"), end))
    of = F.when(F.col("checkpoint_id").isNotNull(), of_its_checkpoint).otherwise(of_its_time)
    lost = F.exists(of, lambda end: F.coalesce(end.reason, F.lit("")).isin(*TASK_LOST))
    return (
        F.when(F.col("place").isin(*MERGED), _number("merging_remainder"))
        .when(lost, _number("unacknowledged"))
        .when(F.size(of) > 0, _number("failed_checkpoint"))
        .when(F.col("last_referrer").isNotNull(), _number("undeleted"))
        .when(F.col("terminal") & ~F.col("job_needed"), _number("dead_job"))
        .otherwise(_number("unknown"))
    )


def _number(kind: str) -> Column:
    return F.lit(_KINDS.index(kind))
