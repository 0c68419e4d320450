"""What could hide a referrer: each of these keeps every root of its audit from being cleaned.

They are added to what reading and listing already doubted. Where two spellings may mean one file, only an operator can
tell: an alias in the spellings makes them one, an alias of a prefix to itself says that it is elsewhere.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.storage.inputs import DOUBTS
from spark_jobs.storage.layout_columns import is_below, with_job_directory, with_places
from spark_jobs.storage.owners import CLOCKS_APART_S, is_of_time

AUTHORITY = "^([a-z][a-z0-9+.-]*:(?://[^/]*)?)"
_TAIL = "/((?:[0-9a-f]{32}/(?:chk-[0-9]+|shared|taskowned|dstl)|savepoint-[0-9a-f]{6}-[0-9a-f]{12})/.+)$"
_COLUMNS = DOUBTS.names

OF_METADATA = ("incomplete_metadata", "damaged_metadata", "unsupported_metadata", "unreadable_file", "vanished_metadata")


def of_completed(doubts: DataFrame, owners: DataFrame, metadata: DataFrame) -> DataFrame:
    """Without those about a ``_metadata`` whose checkpoint provably never completed: it never referred to anything.

    Numbers repeat where a job starts again under its id, so the file has to be of the time of that checkpoint.
    """
    sure = owners.where((F.col("claims") == 1) & F.col("seen"))
    failed = sure.select("audit_id", "job_directory", F.explode("failed").alias("failed"))
    key = ["audit_id", "job_directory", "checkpoint_id"]
    never = failed.select("audit_id", "job_directory", F.col("failed.checkpoint_id").alias("checkpoint_id"), "failed")
    of_metadata = with_places(doubts.where(F.col("reason").isin(*OF_METADATA)), "subject")
    placed = with_job_directory(of_metadata, "subject").where(F.col("place") == "metadata")
    written = metadata.groupBy("audit_id", F.col("path").alias("subject")).agg(F.max("modified").alias("modified"))
    timed = placed.join(written, ["audit_id", "subject"]).join(never, key)
    explained = (
        timed.where(is_of_time(F.col("modified"), F.col("failed"), CLOCKS_APART_S)).select("audit_id", "subject", "reason").distinct()
    )
    return doubts.join(explained, ["audit_id", "subject", "reason"], "left_anti").select(*_COLUMNS)


def unknown_authorities(resolved: DataFrame, roots: DataFrame) -> DataFrame:
    """File systems that references name and that no root is on; one doubt each."""
    outside = resolved.where(F.col("ref_root").isNull()).groupBy("audit_id", F.regexp_extract("path", AUTHORITY, 1).alias("subject"))
    named = outside.agg(F.min("metadata_path").alias("metadata_path"))
    known = roots.groupBy("audit_id").agg(F.flatten(F.collect_set("known_authorities")).alias("known"))
    unknown = named.join(F.broadcast(known), "audit_id").where(~F.array_contains("known", F.col("subject")))
    detail = F.format_string("%s refers to it; declare in the spellings which root it means, or that it is another.", "metadata_path")
    return _doubts(unknown.withColumn("detail", detail), "unknown_authority")


def other_spellings(not_found: DataFrame, files: DataFrame) -> DataFrame:
    """Listed files (audit_id, path, referred_as) that a reference may mean of which no file was found, outside the roots or in them.

    Both are alike from the directory of the job or savepoint on, but for upper and lower case, which some file systems take for one.
    """
    named = not_found.select("audit_id", F.col("path").alias("referred_as"))
    tailed = named.withColumn("tail", F.regexp_extract(F.lower("referred_as"), _TAIL, 1)).where(F.col("tail") != "")
    listed = files.select("audit_id", "path", F.regexp_extract(F.lower("path"), _TAIL, 1).alias("tail"))
    meant = listed.join(tailed, ["audit_id", "tail"])
    return meant.groupBy("audit_id", "path").agg(F.min("referred_as").alias("referred_as"))


def of_other_spellings(spellings: DataFrame) -> DataFrame:
    """One doubt an audit, about the first of them."""
    first = spellings.groupBy("audit_id").agg(
        F.min_by("referred_as", "path").alias("subject"), F.min("path").alias("path"), F.count("*").alias("files")
    )
    detail = F.format_string("It may be %s, as may others of %d files; declare in the spellings what its directory means.", "path", "files")
    return _doubts(first.withColumn("detail", detail), "other_spelling")


def restored_from_gone(restores: DataFrame, snapshots: DataFrame, roots: DataFrame) -> DataFrame:
    """Jobs that may run on files which only a snapshot named that was not read: it is gone, or lies elsewhere."""
    read = snapshots.select("audit_id", F.col("directory").alias("restored_path"))
    since = F.coalesce(F.col("last_completed_at") > F.col("restored_at"), F.lit(False))
    waiting = _may_run(restores).where(~since).join(read, ["audit_id", "restored_path"], "left_anti")
    places = F.broadcast(roots.select("audit_id", "root"))
    of_restore = ["audit_id", "cluster", "job_id", "restored_path"]
    inside = waiting.join(places, "audit_id").where(is_below(F.col("restored_path"), F.col("root"))).select(*of_restore, "root")
    outside = waiting.join(inside, of_restore, "left_anti")
    detail = F.format_string("Job %s was restored from it and has completed no checkpoint since.", "job_id")
    gone, elsewhere = (one.withColumn("subject", F.col("restored_path")).withColumn("detail", detail) for one in (inside, outside))
    return _doubts(gone, "restored_from_gone").unionByName(_doubts(elsewhere, "restored_from_elsewhere"))


def restored_from_unknown(jobs: DataFrame, writers: DataFrame, snapshots: DataFrame) -> DataFrame:
    """Jobs that may run on a checkpoint of which nobody knows where it lies, or whether there is one.

    Flink does not always report the path. One with a checkpoint of its own since stands on that.
    """
    of_job = ["audit_id", "cluster", "job_id"]
    since = F.coalesce(F.col("last_completed_at") > F.coalesce("restored_at", "started_at"), F.lit(False))
    restored = F.col("restored_at").isNotNull() & F.col("restored_path").isNull()
    may_be = restored | F.coalesce("restore_unread", F.lit(False))
    waiting = _may_run(jobs).where(may_be & ~since).select(*of_job, "restored_at")
    found = _found(writers, snapshots).select(*of_job, "found_at")
    unknown = waiting.join(found, of_job, "left").where(~F.coalesce(F.col("found_at") > F.col("restored_at"), F.lit(False)))
    detail = F.format_string("Job of %s; wait for its next checkpoint and audit again.", "cluster")
    return _doubts(
        unknown.withColumn("subject", F.col("job_id")).withColumn("detail", detail),
        "restored_from_unknown",
    )


def writes_elsewhere(jobs: DataFrame, listed: DataFrame, roots: DataFrame) -> DataFrame:
    """Jobs that stem from the audited roots and whose checkpoints lie outside of them.

    Those may refer to files here, and nobody reads them. ``listed`` are the job directories found:
    one of its id that its cluster may write is of the job before it moved.
    """
    places = F.broadcast(roots.select("audit_id", "root", "clusters"))
    known = jobs.where(F.col("written_directory").isNotNull())
    near = known.join(places, "audit_id")
    inside = near.where(is_below(F.col("written_directory"), F.col("root")))
    outside = known.join(inside.select("audit_id", "cluster", "job_id"), ["audit_id", "cluster", "job_id"], "left_anti")
    restored = outside.join(places, "audit_id").where(is_below(F.col("restored_path"), F.col("root")))
    allowed = (F.size("clusters") == 0) | F.array_contains("clusters", F.col("cluster"))
    moved = (
        outside.join(listed.select("audit_id", "root", "job_id"), ["audit_id", "job_id"]).join(places, ["audit_id", "root"]).where(allowed)
    )
    columns = ("audit_id", "cluster", "job_id", "written_directory")
    found = restored.select(*columns).unionByName(moved.select(*columns)).distinct()
    detail = F.format_string("Job %s of %s writes there; add it to the roots.", "job_id", "cluster")
    return _doubts(found.withColumn("subject", F.col("written_directory")).withColumn("detail", detail), "writes_elsewhere")


def no_checkpoint_found(jobs: DataFrame, restores: DataFrame, writers: DataFrame, snapshots: DataFrame, roots: DataFrame) -> DataFrame:
    """Jobs that run and whose newest checkpoint was not found, nor a later one.

    The listing may have passed between two of them, or may be short. Only jobs that write below
    the audited roots or were restored from there; others write elsewhere. A checkpoint that
    completed after the listing began is not looked for, but any other of its job is.
    """
    of_job = ["audit_id", "cluster", "job_id"]
    places = F.broadcast(roots.select("audit_id", "root", "as_of"))
    running = _may_run(jobs).where(F.col("last_completed_at").isNotNull())
    begun = running.join(places, "audit_id")
    inside = begun.where(is_below(F.col("written_directory"), F.col("root"))).select(*of_job)
    unplaced = running.where(F.col("written_directory").isNull())
    from_here = restores.join(places, "audit_id").where(is_below(F.col("restored_path"), F.col("root")))
    guessed = writers.select(*of_job).unionByName(from_here.select(*of_job)).distinct()
    here = inside.unionByName(unplaced.join(guessed, of_job, "left_semi").select(*of_job))
    as_of = F.broadcast(roots.groupBy("audit_id").agg(F.min("as_of").alias("as_of")))
    wanted = running.join(here.distinct(), of_job).join(as_of, "audit_id")
    is_listed = F.col("last_completed_at") < F.col("as_of")
    least = F.when(is_listed, F.col("last_completed_id"))
    found = _found(writers, snapshots)
    is_older = F.col("found_id") < least
    # A higher number is of an earlier run under the same id where it was written before this one began.
    is_of_earlier_run = F.col("found_at") < F.col("started_at")
    is_missed = F.col("found_id").isNull() | F.coalesce(is_older, F.lit(False)) | F.coalesce(is_of_earlier_run, F.lit(False))
    lost = wanted.join(found, of_job, "left").where(is_missed)
    detail = F.format_string("Job of %s; audit again, and look whether its checkpoints are kept.", "cluster")
    return _doubts(
        lost.withColumn("subject", F.col("job_id")).withColumn("detail", detail),
        "no_checkpoint_found",
    )


def _found(writers: DataFrame, snapshots: DataFrame) -> DataFrame:
    """(audit_id, cluster, job_id, found_id, found_at): the newest checkpoint read below what a job writes, by its time."""
    read = snapshots.where(F.col("place") == "metadata").select("audit_id", "job_directory", "checkpoint_id", "modified")
    newest = F.max_by(F.struct(F.coalesce("checkpoint_id", F.lit(-1)).alias("id"), "modified"), F.struct("modified", "checkpoint_id"))
    return (
        writers.join(read, ["audit_id", "job_directory"])
        .groupBy("audit_id", "cluster", "job_id")
        .agg(newest.alias("newest"))
        .select("audit_id", "cluster", "job_id", F.col("newest.id").alias("found_id"), F.col("newest.modified").alias("found_at"))
    )


def distinct(doubts: DataFrame) -> DataFrame:
    return (
        doubts.groupBy("audit_id", "subject", "reason").agg(F.max("root").alias("root"), F.max("detail").alias("detail")).select(*_COLUMNS)
    )


def _may_run(jobs: DataFrame) -> DataFrame:
    return jobs.where(~F.coalesce(F.col("terminal") & F.col("seen"), F.lit(False)))


def _doubts(rows: DataFrame, reason: str) -> DataFrame:
    root = F.col("root") if "root" in rows.columns else F.lit("")
    return rows.select("audit_id", "subject", F.lit(reason).alias("reason"), root.alias("root"), "detail")
