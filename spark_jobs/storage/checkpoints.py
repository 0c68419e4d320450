"""Retained checkpoints and savepoints: what they consist of, whether they can be restored, whether anyone will."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.storage.keys import FILE_KEY, looked_up, with_file_key
from spark_jobs.storage.layout_columns import is_below, with_job_directory, with_places
from spark_jobs.storage.owners import JOB_DIRECTORY, SHARED_ID
from spark_jobs.storage.references import with_roots
from spark_jobs.storage_words import LIVE, RETAINED_WASTE

CHECKPOINT = ["audit_id", "metadata_path"]
_NEVER = "9999-01-01 00:00:00"


def resolved(references: DataFrame, files: DataFrame, snapshots: DataFrame, roots: DataFrame) -> DataFrame:
    """Each reference with what is there: ``found``; ``missing``, null where it cannot be known.

    ``own``: below the directory of the checkpoint or of its job. Others have ``other_job_directory``
    and ``other_job_id``, as far as their path tells.

    Cannot be known: below no audited root, below one that was not listed whole, and younger than the listing.
    """
    named = with_file_key(references)
    # Two listed names may be one canonical path. Only files that anything refers to are looked at for that.
    referred = files.select(*FILE_KEY, "bytes").join(looked_up(named.select(*FILE_KEY)), FILE_KEY, "left_semi")
    there = referred.groupBy(*FILE_KEY).agg(F.max(F.coalesce("bytes", F.lit(0))).alias("file_bytes"))
    keyed = named.join(looked_up(there), FILE_KEY, "left").drop("path_hash")
    own_directory = F.col("job_directory").alias("own_job_directory")
    of = snapshots.select(*CHECKPOINT, "directory", own_directory, "modified")
    joined = with_roots(keyed.join(of, CHECKPOINT), roots)
    as_of = roots.groupBy("audit_id").agg(F.min("as_of").alias("as_of"))
    placed = with_job_directory(with_places(joined)).join(F.broadcast(as_of), "audit_id")
    found = F.col("file_bytes").isNotNull()
    listed_before = F.col("ref_root").isNotNull() & (F.col("ref_unlisted") == 0) & (F.col("modified") < F.col("as_of"))
    same_job = F.coalesce(F.col("job_directory") == F.col("own_job_directory"), F.lit(False))
    own = same_job | is_below(F.col("path"), F.col("directory"))
    return placed.select(
        *CHECKPOINT,
        "path",
        "bytes",
        "segmented",
        "file_bytes",
        "ref_root",
        found.alias("found"),
        F.when(found, F.lit(False)).when(listed_before, F.lit(True)).alias("missing"),
        own.alias("own"),
        F.when(~own, F.col("job_id")).alias("other_job_id"),
        F.when(~own, F.col("job_directory")).alias("other_job_directory"),
    )


def figures(resolved_references: DataFrame, snapshots: DataFrame, written: DataFrame) -> DataFrame:
    """Snapshots with the counts and sums of their references; ``resolvable`` is null where it cannot be known."""
    sums = resolved_references.groupBy(*CHECKPOINT).agg(
        F.count("*").alias("files"),
        F.sum("bytes").alias("bytes"),
        *_counted("own", F.col("own")),
        *_counted("foreign", ~F.col("own")),
        *_counted("missing", F.coalesce("missing", F.lit(False))),
        F.count_if(F.col("missing").isNull()).alias("untold_files"),
        F.count_if("segmented").alias("segmented_files"),
        F.sum(F.when(F.col("segmented"), F.coalesce("file_bytes", "bytes"))).alias("segmented_file_bytes"),
        F.sum(F.when(F.col("segmented"), F.col("bytes"))).alias("live_segment_bytes"),
    )
    counts = [name for name in sums.columns if name not in CHECKPOINT]
    whole = snapshots.join(sums, CHECKPOINT, "left").join(written, CHECKPOINT, "left").fillna(0, counts)
    return whole.withColumns(
        {
            "is_savepoint": F.col("place") == "savepoint",
            "self_contained": (F.col("foreign_files") == 0) & (F.col("unplaced") == 0),
            "resolvable": F.when(F.col("missing_files") > 0, F.lit(False)).when(
                (F.col("untold_files") == 0) & (F.col("unplaced") == 0), F.lit(True)
            ),
        }
    ).drop("unplaced")


def written_at(metadata: DataFrame) -> DataFrame:
    """(audit_id, metadata_path, age_from) of listed ``_metadata``, as the age of any file counts; far ahead where nobody knows."""
    age_from = F.when(F.col("modified").isNull(), F.lit(_NEVER).cast("timestamp")).otherwise(F.greatest("modified", "first_seen_at"))
    return metadata.groupBy("audit_id", F.col("path").alias("metadata_path")).agg(F.max(age_from).alias("age_from"))


def judged(checkpoints: DataFrame, weaned: DataFrame, roots: DataFrame, written_at: DataFrame) -> DataFrame:
    """Adds ``verdict`` and ``successor_job_id``. ``checkpoints`` are :func:`owned`.

    Waste: its job was seen in a terminal state, and another job restored from it, or from a later
    checkpoint of that job, has since completed a checkpoint that is whole and its own. As long as
    any job that may run was restored from that job and has not, nothing of it is waste. Savepoints
    never are.
    """
    # A job that was restored from a checkpoint of its own is no successor of itself.
    succeeded = F.col("weaned") & ~F.col("is_own")
    origin = F.col("from_job_directory").alias("job_directory")
    per_origin = weaned.groupBy("audit_id", origin).agg(
        F.max(F.when(succeeded, F.col("from_checkpoint_id"))).alias("left_up_to"),
        F.max(F.when(succeeded, F.col("restored_at"))).alias("left_at"),
        F.max(F.when(succeeded, F.col("job_id"))).alias("successor_job_id"),
        F.bool_or(~F.col("weaned") & ~F.col("ended")).alias("needed_still"),
    )
    of_roots = F.broadcast(roots.select("audit_id", "root", "as_of", "age_guard_h", "any_blind"))
    guard = F.col("as_of") - F.make_dt_interval(hours=F.col("age_guard_h").cast("int"))
    scoped = (
        checkpoints.join(written_at, CHECKPOINT, "left")
        .join(per_origin, ["audit_id", "job_directory"], "left")
        .join(of_roots, ["audit_id", "root"])
    )
    waste = (
        ~F.col("is_savepoint")
        & (F.col("place") == "metadata")
        & (F.col("claims") == 1)
        & F.col("terminal")
        & F.col("seen")
        & ~F.col("needed_still")
        # Of a job that began where nobody sees, nobody knows what it was restored from.
        & ~F.col("any_blind")
        # One of an earlier run under the same id is not what the later run's successor took over.
        & F.coalesce(F.col("modified") >= F.col("started_at"), ~F.endswith("job_directory", F.lit(SHARED_ID)))
        & (F.col("checkpoint_id") <= F.col("left_up_to"))
        # A later one than the job is known to have completed was written by somebody unknown.
        & (F.col("left_up_to") <= F.col("last_completed_id"))
        # A job that starts again under its id counts from 1 again: these are not the same ones.
        & (F.col("modified") <= F.col("left_at"))
        # What it refers to may go only where its own file may.
        & (F.col("age_from") <= guard)
        & F.coalesce(F.col("age_from") < F.col("in_flight_since"), F.lit(True))
        # One that went on after the other was restored was copied, not succeeded; its last
        # checkpoint may not be listed yet.
        & F.coalesce(F.col("last_completed_at") <= F.least("left_at", guard), F.lit(True))
    )
    verdict = F.when(F.coalesce(waste, F.lit(False)), RETAINED_WASTE).otherwise(LIVE)
    successor = F.when(F.col("verdict") == RETAINED_WASTE, F.col("successor_job_id"))
    return (
        scoped.withColumn("verdict", verdict)
        .withColumn("successor_job_id", successor)
        .drop(
            "left_up_to", "left_at", "needed_still", "any_blind", "started_at", "last_completed_id", "last_completed_at",
            "in_flight_since", "age_from", "as_of", "age_guard_h",
        )
    )  # fmt: skip


def owned(checkpoints: DataFrame, owners: DataFrame) -> DataFrame:
    """Adds what is known of the job whose directory a checkpoint lies in, as ``owners`` has it."""
    owner = owners.select(
        *JOB_DIRECTORY, "claims", "cluster", "job_name", "started_at", "terminal", "seen",
        "last_completed_id", "last_completed_at", "in_flight_since",
    )  # fmt: skip
    return checkpoints.join(owner, JOB_DIRECTORY, "left")


def weaned_restores(checkpoints: DataFrame, restores: DataFrame, sole: DataFrame) -> DataFrame:
    """Restores with what became of the job since, by what was read of its own directories.

    ``weaned``: it has completed a checkpoint that is whole and its own. ``ended``: it cannot run,
    and its last checkpoint was read, or is known to be gone: one that was not found may refer to
    what the job was restored from. ``is_own``: restored from a directory it writes itself.
    """
    of_job = ["audit_id", "cluster", "job_id"]
    own = checkpoints.where(~F.col("is_savepoint") & (F.col("claims") == 1))
    whole = own.where(F.col("seen") & F.col("self_contained") & F.coalesce("resolvable", F.lit(False)))
    newest = whole.groupBy(*of_job).agg(F.max("modified").alias("whole_at"), F.max("checkpoint_id").alias("whole_id"))
    read = own.groupBy(*of_job).agg(F.max("checkpoint_id").alias("read_id"))
    home = sole.select(*of_job, F.col("job_directory").alias("from_job_directory"))
    origins = home.withColumn("is_own", F.lit(True)).distinct()
    # A restored job goes on counting: a lower number is of somebody else who writes there.
    counts_on = F.coalesce(F.col("whole_id") > F.col("from_checkpoint_id"), F.lit(True))
    has_moved_on = F.col("seen") & (F.col("whole_at") > F.col("restored_at")) & counts_on
    weaned = (
        restores.join(newest, of_job, "left")
        .join(read, of_job, "left")
        .join(origins, [*of_job, "from_job_directory"], "left")
        .fillna(False, ["is_own"])
        .withColumn("weaned", F.coalesce(has_moved_on, F.lit(False)))
    )
    # Who claims a checkpoint deletes it in the end, and then needs it no more.
    succeeded = weaned.where(F.col("weaned") & ~F.col("is_own")).groupBy("audit_id", "from_job_directory")
    left = succeeded.agg(F.max("from_checkpoint_id").alias("left_id"))
    claimed = left.join(home, ["audit_id", "from_job_directory"]).groupBy(*of_job).agg(F.max("left_id").alias("left_id"))
    last_id = F.col("last_completed_id")
    discarded = F.exists(F.coalesce("checkpoints_ended", F.array()), lambda end: (end.checkpoint_id == last_id) & end.discarded)
    is_gone = ~F.coalesce("keeps_last", F.lit(True)) | discarded | (F.col("left_id") >= last_id)
    accounted = F.col("last_completed_at").isNull() | (F.col("read_id") >= last_id) | is_gone
    has_ended = F.col("terminal") & F.col("seen") & accounted
    return weaned.join(claimed, of_job, "left").withColumn("ended", F.coalesce(has_ended, F.lit(False)))


def against_previous(checkpoints: DataFrame, resolved_references: DataFrame, segments: DataFrame) -> DataFrame:
    """Per checkpoint with one before it of the same job: what it shares with that one, what is new, what was dropped since.

    Files are physical files, with what they take on disk; segments of merged files are counted apart, each by its own bytes.
    """
    order = Window.partitionBy("audit_id", "job_directory").orderBy("checkpoint_id", "metadata_path")
    numbered = checkpoints.where(~F.col("is_savepoint") & F.col("job_directory").isNotNull())
    pairs = numbered.withColumn("previous_path", F.lag("metadata_path").over(order)).where(F.col("previous_path").isNotNull())
    pairs = pairs.select(*CHECKPOINT, "previous_path")
    on_disk = F.when(F.col("segmented"), F.coalesce("file_bytes", "bytes")).otherwise(F.col("bytes"))
    files = resolved_references.select(*CHECKPOINT, "path", on_disk.alias("bytes"))
    of_files = _compared(pairs, files, ["path"], "_files", "_bytes")
    of_segments = _compared(pairs, segments, ["path", "offset_bytes"], "_segments", "_segment_bytes")
    names = [name for name in (*of_files.columns, *of_segments.columns) if name not in CHECKPOINT]
    return pairs.join(of_files, CHECKPOINT, "left").join(of_segments, CHECKPOINT, "left").fillna(0, names)


def _compared(pairs: DataFrame, parts: DataFrame, key: list[str], counts: str, sums: str) -> DataFrame:
    """Counts and bytes of the ``parts`` of both checkpoints of each pair: shared, new and dropped."""
    mine = parts.join(pairs.drop("previous_path"), CHECKPOINT).select(
        *CHECKPOINT, *key, "bytes", F.lit(1).alias("now"), F.lit(0).alias("then")
    )
    before = parts.withColumnRenamed("metadata_path", "previous_path").join(pairs, ["audit_id", "previous_path"])
    theirs = before.select(*CHECKPOINT, *key, "bytes", F.lit(0).alias("now"), F.lit(1).alias("then"))
    both = mine.unionByName(theirs).groupBy(*CHECKPOINT, *key).agg(
        F.max("now").alias("now"), F.max("then").alias("then"),
        F.coalesce(F.max(F.when(F.col("now") == 1, F.col("bytes"))), F.max("bytes")).alias("bytes"),
    )  # fmt: skip
    now, then = F.col("now") == 1, F.col("then") == 1
    which = {"shared": now & then, "new": now & ~then, "dropped": ~now & then}
    return both.groupBy(*CHECKPOINT).agg(
        *(F.count_if(condition).alias(f"{name}{counts}") for name, condition in which.items()),
        *(F.coalesce(F.sum(F.when(condition, F.col("bytes"))), F.lit(0)).alias(f"{name}{sums}") for name, condition in which.items()),
    )


def superseded(checkpoints: DataFrame, restores: DataFrame) -> DataFrame:
    """(audit_id, metadata_path) of checkpoints after which one of the same job is whole.

    Or one of a job that was restored from it.
    """
    whole = checkpoints.where(F.coalesce("resolvable", F.lit(False)) & ~F.col("is_savepoint"))
    in_job = whole.where(F.col("job_directory").isNotNull())
    last = in_job.groupBy("audit_id", "job_directory").agg(F.max("checkpoint_id").alias("whole_id"))
    of_job = ["audit_id", "cluster", "job_id"]
    successful = in_job.where(F.col("claims") == 1).select(*of_job).distinct()
    heirs = restores.join(successful, of_job)
    inherited = heirs.groupBy("audit_id", F.col("from_job_directory").alias("job_directory")).agg(
        F.max("from_checkpoint_id").alias("inherited_id")
    )
    joined = checkpoints.join(last, ["audit_id", "job_directory"], "left").join(inherited, ["audit_id", "job_directory"], "left")
    later = (F.col("checkpoint_id") < F.col("whole_id")) | (F.col("checkpoint_id") <= F.col("inherited_id"))
    return joined.where(later & ~F.col("is_savepoint")).select(*CHECKPOINT)


def restored_directories(weaned: DataFrame) -> DataFrame:
    """(audit_id, directory) that a job which may run was restored from, and which it has not been weaned from."""
    needed = weaned.where(~F.col("ended") & ~F.col("weaned"))
    return needed.select("audit_id", F.col("restored_path").alias("directory")).distinct()


def _counted(name: str, which: Column) -> list[Column]:
    return [F.count_if(which).alias(f"{name}_files"), F.coalesce(F.sum(F.when(which, F.col("bytes"))), F.lit(0)).alias(f"{name}_bytes")]
