"""An audit from its inputs to its tables, in the order in which one rests on the other.

``keep`` is called with a name and a frame that later steps read more than once; it returns a frame of the same rows that is
not computed again. Frames named like a table are those tables.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.storage import aliases, history, lineage, merged_files, operator_states, owners, references, totals, verdicts
from spark_jobs.storage import checkpoints as of_checkpoints
from spark_jobs.storage import doubts as doubting
from spark_jobs.storage.file_facts import Known, facts_of_files, judged_directories
from spark_jobs.storage.files import absent_files, held_directories, listed_files, merged
from spark_jobs.storage.inputs import Inputs
from spark_jobs.storage.layout_columns import is_metadata

MOST_MISSING = 1000
"""Rows of ``storage_missing`` a checkpoint; their count is exact in ``storage_checkpoint``."""

Keep = Callable[[str, DataFrame], DataFrame]


@dataclass(frozen=True)
class Judged:
    """``files``: all listed ones with their verdict. ``absent`` and ``pending``: what the next audit must know besides."""

    files: DataFrame
    references: DataFrame
    absent: DataFrame
    pending: DataFrame
    tables: dict[str, DataFrame]


def judge(inputs: Inputs, keep: Keep) -> Judged:
    roots, jobs = inputs.roots, inputs.jobs
    # Each look through all files costs; the frames beside them say what the steps below ask of them.
    files, held = _files(inputs, keep)
    listed_jobs = held.where(F.col("job_id").isNotNull()).groupBy("audit_id", "job_id").agg(F.max("root").alias("root"))
    metadata = keep("listed_metadata", files.where(is_metadata(F.col("path"))))
    snapshots = keep("snapshots", references.read_snapshots(inputs.references))
    referred = keep("storage_reference", references.referred_files(inputs.references, snapshots))
    segments = keep("segments", references.segments_of_checkpoints(inputs.references, snapshots))
    resolved = keep("resolved", of_checkpoints.resolved(referred, files, snapshots, roots))
    directories_of_jobs = keep("job_directories", owners.directories(held, snapshots))
    writers = keep("writers", owners.writers(jobs, directories_of_jobs, roots))
    owned = keep("owners", owners.owners(writers))
    sole = owners.sole_writers(owned)
    restores = keep("restores", owners.restores(jobs))

    figures = of_checkpoints.figures(resolved, snapshots, references.written_in(inputs.references))
    of_jobs = keep("checkpoints_of_jobs", of_checkpoints.owned(figures, owned))
    weaned = keep("weaned", of_checkpoints.weaned_restores(of_jobs, restores, sole))
    written_at = of_checkpoints.written_at(metadata)
    checkpoints = keep("checkpoints", of_checkpoints.judged(of_jobs, weaned, roots, written_at))

    not_found = resolved.where(~F.col("found"))
    # Usually all are found: then no file need be looked at for how its path ends.
    spellings = keep("other_spellings", doubting.other_spellings(not_found, files.limit(0) if not_found.isEmpty() else files))
    twins = keep("twins", aliases.twins(files, held))
    doubts = keep(
        "storage_doubt",
        doubting.distinct(
            _all_doubts(inputs, owned, resolved, spellings, twins, restores, snapshots, writers, directories_of_jobs, metadata)
        ),
    )

    chains = keep("chains", _references_of_jobs(resolved, checkpoints))
    unread = history.unread(inputs.referred, snapshots)
    pending = keep("pending", history.pending(unread, metadata, roots))
    needed, all_needed = _task_owned(metadata, restores, chains, jobs, listed_jobs)
    live_segments = references.live_segments(segments)
    known = Known(
        roots=roots,
        held=held,
        owners=owned,
        needed_jobs=keep("needed_jobs", needed),
        all_needed=all_needed,
        restored=of_checkpoints.restored_directories(weaned),
        doubted=doubts.select("audit_id").distinct(),
        spellings=spellings.select("audit_id", "path").unionByName(twins.select("audit_id", "path")),
        vanished_files=history.vanished_files(unread, pending, jobs, sole),
        vanished=inputs.vanished,
        live_segments=live_segments,
    )
    directories = keep("directories", judged_directories(known))
    facts = facts_of_files(resolved, checkpoints, known)
    judged = keep("judged", verdicts.judged_files(files, facts, directories, known.restored))
    cube = keep("cube", verdicts.spelled_out(totals.cube(judged), directories))
    missing = resolved.where(F.col("missing"))
    checkpoint_rows = keep("checkpoint_rows", _checkpoint_rows(checkpoints, resolved, segments, jobs))
    return Judged(
        files=verdicts.spelled_out(judged, directories),
        references=referred,
        absent=absent_files(files, inputs.known_files, roots),
        pending=pending,
        tables={
            "storage_root": totals.of_roots(cube, checkpoints, _distinct_files(missing), doubts, roots),
            "storage_verdict": totals.of_verdicts(cube),
            "storage_job": totals.of_jobs(cube, checkpoints, resolved, owned),
            "storage_checkpoint": checkpoint_rows,
            "storage_operator_state": operator_states.of_checkpoints(inputs.operators, checkpoint_rows),
            "storage_chain": _chain_rows(chains, restores, sole, roots),
            "storage_missing": _missing_rows(missing, of_checkpoints.superseded(checkpoints, restores)),
            "storage_merged_file": merged_files.worth_compacting(resolved, live_segments),
            "storage_doubt": doubts,
        },
    )


def _all_doubts(
    inputs: Inputs,
    owned: DataFrame,
    resolved: DataFrame,
    spellings: DataFrame,
    twins: DataFrame,
    restores: DataFrame,
    snapshots: DataFrame,
    writers: DataFrame,
    directories_of_jobs: DataFrame,
    metadata: DataFrame,
) -> DataFrame:
    jobs, roots = inputs.jobs, inputs.roots
    return (
        doubting.of_completed(inputs.doubts, owned, metadata)
        .unionByName(doubting.unknown_authorities(resolved, inputs.roots))
        .unionByName(doubting.of_other_spellings(spellings))
        .unionByName(aliases.of_twins(twins))
        .unionByName(aliases.same_metadata(inputs.references, snapshots))
        .unionByName(doubting.restored_from_gone(restores, snapshots, roots))
        .unionByName(doubting.restored_from_unknown(jobs, writers, snapshots))
        .unionByName(doubting.writes_elsewhere(jobs, directories_of_jobs, roots))
        .unionByName(doubting.no_checkpoint_found(jobs, restores, writers, snapshots, roots))
    )


def _files(inputs: Inputs, keep: Keep) -> tuple[DataFrame, DataFrame]:
    """Listed files, and the directories that hold them.

    To merge what is known of a file costs as much as all else here, and is hardly ever needed: the number of rows shows it.
    """
    files = keep("files", listed_files(inputs.listing, inputs.known_files, inputs.roots))
    held = keep("held", held_directories(files, inputs.roots))
    summed = held.agg(F.sum("files")).first()
    if summed and summed[0] not in (None, inputs.listing.count()):
        files = keep("merged_files", listed_files(inputs.listing, merged(inputs.known_files), inputs.roots))
        held = keep("merged_held", held_directories(files, inputs.roots))
    return files, held


def _references_of_jobs(resolved: DataFrame, checkpoints: DataFrame) -> DataFrame:
    """Distinct files of another job's directory per job that refers to them.

    ``job_id`` and ``job_directory`` are null for savepoints.
    """
    foreign = resolved.where(F.col("other_job_id").isNotNull())
    referrers = checkpoints.select("audit_id", "metadata_path", "job_directory", "job_id")
    keyed = foreign.join(referrers, ["audit_id", "metadata_path"])
    root = F.coalesce("ref_root", F.lit("")).alias("root")
    ends = ["job_directory", "job_id", "other_job_directory", "other_job_id"]
    return keyed.groupBy("audit_id", root, *ends, "path").agg(
        F.max("bytes").alias("bytes"), F.collect_set("metadata_path").alias("referrers")
    )


def _task_owned(
    metadata: DataFrame, restores: DataFrame, chains: DataFrame, jobs: DataFrame, listed_jobs: DataFrame
) -> tuple[DataFrame, DataFrame]:
    """(audit_id, job_id) of jobs whose task-owned files may be needed, and (audit_id) where those of all may be:
    a snapshot lies there whose job nobody can tell, or a job was restored from a place that nobody knows."""
    known = listed_jobs.select("audit_id", "job_id").unionByName(jobs.select("audit_id", "job_id")).distinct()
    prefix = F.regexp_extract("path", "/savepoint-([0-9a-f]{6})-[0-9a-f]{12}/", 1)
    savepoints = metadata.where(F.col("place") == "savepoint").select("audit_id", prefix.alias("prefix")).distinct()
    of_savepoints = (
        known.withColumn("prefix", F.substring("job_id", 1, 6)).join(savepoints, ["audit_id", "prefix"]).select("audit_id", "job_id")
    )
    may_run = jobs.where(~F.coalesce(F.col("terminal") & F.col("seen"), F.lit(False))).select("audit_id", "job_id")
    holders = (
        metadata.where(F.col("job_id").isNotNull())
        .select("audit_id", "job_id")
        .unionByName(of_savepoints)
        .unionByName(may_run)
        .unionByName(chains.select("audit_id", F.col("other_job_id").alias("job_id")))
        .distinct()
    )
    foreign = chains.where(F.col("job_id").isNotNull()).select("audit_id", "job_id", "other_job_id").distinct()
    needed = lineage.needed_ancestors(lineage.descents(restores, foreign, known), holders).distinct()
    unowned = metadata.where(F.col("job_id").isNull() & (F.col("place") != "savepoint")).select("audit_id")
    # Only the last restore of a job is known. After one from its own checkpoint, or from a place that tells no job,
    # nobody knows any more from whom it stems.
    from_unknown = jobs.where(
        (F.col("restored_at").isNotNull() & F.col("restored_path").isNull()) | F.coalesce("restore_unread", F.lit(False))
    )
    of_itself = restores.where(F.coalesce(F.col("from_job_id"), "from_prefix").isNull() | (F.col("from_job_id") == F.col("job_id")))
    forgotten = from_unknown.select("audit_id").unionByName(of_itself.select("audit_id"))
    return needed, unowned.unionByName(forgotten).distinct()


def _checkpoint_rows(checkpoints: DataFrame, resolved: DataFrame, segments: DataFrame, jobs: DataFrame) -> DataFrame:
    """``storage_checkpoint``. The job of a savepoint is known where the six digits in its name fit one job only."""
    prefix = F.regexp_extract("metadata_path", "/savepoint-([0-9a-f]{6})-[0-9a-f]{12}/", 1)
    fitting = jobs.groupBy("audit_id", F.substring("job_id", 1, 6).alias("prefix")).agg(
        F.countDistinct("cluster", "job_id").alias("fitting"), F.max("job_id").alias("fit_job_id"), F.max("cluster").alias("fit_cluster")
    )
    compared = of_checkpoints.against_previous(checkpoints, resolved, segments)
    rows = checkpoints.withColumn("prefix", prefix).join(fitting, ["audit_id", "prefix"], "left").join(
        compared, ["audit_id", "metadata_path"], "left"
    )  # fmt: skip
    one, fits = F.col("claims") == 1, F.col("is_savepoint") & (F.col("fitting") == 1)
    return rows.withColumns(
        {
            "job_id": F.coalesce("job_id", F.when(fits, F.col("fit_job_id")), F.lit("")),
            "cluster": F.coalesce(F.when(one, F.col("cluster")), F.when(fits, F.col("fit_cluster")), F.lit("")),
        }
    )


def _chain_rows(chains: DataFrame, restores: DataFrame, sole: DataFrame, roots: DataFrame) -> DataFrame:
    """``storage_chain``."""
    ends = ["directory", "job_id", "other_directory", "other_job_id"]
    named = chains.where(F.col("job_directory").isNotNull()).withColumnsRenamed(
        {"job_directory": "directory", "other_job_directory": "other_directory"}
    )
    checkpoints = F.size(F.array_distinct(F.flatten(F.collect_list("referrers"))))
    refers = named.groupBy("audit_id", "root", *ends).agg(
        F.count("*").alias("files"), F.sum("bytes").alias("bytes"), checkpoints.alias("checkpoints")
    )
    of_checkpoints_only = restores.where(F.col("from_job_directory").isNotNull())
    home = sole.select("audit_id", "cluster", "job_id", F.col("job_directory").alias("directory"))
    renamed = of_checkpoints_only.withColumnsRenamed({"from_job_directory": "other_directory", "from_job_id": "other_job_id"})
    at_home = renamed.join(home, ["audit_id", "cluster", "job_id"], "left").fillna("", ["directory"])
    nothing = (F.lit(0).alias(name) for name in ("files", "bytes", "checkpoints"))
    restored = (
        at_home.groupBy("audit_id", *ends)
        .agg(F.lit(0).alias("_"))
        .select("audit_id", F.col("other_directory").alias("path"), *ends, *nothing)
    )
    placed = references.with_roots(restored, roots).withColumn("root", F.coalesce("ref_root", F.lit("")))
    others = placed.where(F.col("directory") != F.col("other_directory"))
    return refers.withColumn("kind", F.lit("refers")).unionByName(
        others.select("audit_id", "root", *ends, "files", "bytes", "checkpoints").withColumn("kind", F.lit("restored_from"))
    )


def _missing_rows(missing: DataFrame, superseded: DataFrame) -> DataFrame:
    """``storage_missing``."""
    order = Window.partitionBy("audit_id", "metadata_path").orderBy("path")
    some = missing.withColumn("_place", F.row_number().over(order)).where(F.col("_place") <= MOST_MISSING)
    marked = some.join(superseded.withColumn("superseded", F.lit(True)), ["audit_id", "metadata_path"], "left").fillna(
        False, ["superseded"]
    )
    return marked.withColumn("root", F.col("ref_root"))


def _distinct_files(missing: DataFrame) -> DataFrame:
    return missing.groupBy("audit_id", "ref_root", "path").agg(F.max("bytes").alias("bytes"))
