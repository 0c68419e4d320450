"""What decides over files besides the listing: what is known of single files, and of the directories they lie in."""

from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.storage.keys import FILE_KEY, with_file_key
from spark_jobs.storage_words import LIVE

FUTURE_AFTER_H = 1
"""A file that was written while the listing ran is young; one from later than this has a clock that cannot be trusted."""

_FACTS = {
    "live_referrer": "string", "waste_referrer": "string", "newly_vanished": "string", "live_segment_bytes": "bigint",
    "snapshot": "boolean", "segmented": "boolean", "other_spelling": "boolean", "gone": "boolean",
}  # fmt: skip
"""What may be known of one path, with the type; null where nothing is."""


@dataclass(frozen=True)
class Known:
    """What decides besides the files: small frames by root or job, and frames by file that stand for few files."""

    roots: DataFrame
    held: DataFrame
    """(held_no, audit_id, root, root_no, job_directory, job_id) of all directories of files."""
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


def facts_of_files(resolved: DataFrame, checkpoints: DataFrame, known: Known) -> DataFrame:
    """All that is known of single files besides the listing, a row for each path: files are joined to it once.

    A live checkpoint and a waste one that refer to it, if any; whether it is a ``snapshot``, the ``_metadata`` of one.
    """
    verdicts = checkpoints.select("audit_id", "metadata_path", "verdict")
    live, waste = (F.when(which, F.col("metadata_path")) for which in (F.col("verdict") == LIVE, F.col("verdict") != LIVE))
    facts = [
        resolved.join(verdicts, ["audit_id", "metadata_path"]).withColumns({"live_referrer": live, "waste_referrer": waste}),
        verdicts.withColumns({"path": F.col("metadata_path"), "live_referrer": live, "waste_referrer": waste, "snapshot": F.lit(True)}),
        known.spellings.withColumn("other_spelling", F.lit(True)),
        known.vanished_files.withColumnRenamed("vanished_referrer", "newly_vanished"),
        known.vanished.select("audit_id", F.col("metadata_path").alias("path"), F.lit(True).alias("gone")),
        known.live_segments,
    ]
    rows = reduce(DataFrame.unionByName, (_fact_columns(frame) for frame in facts))
    largest, flags = (
        [F.max(name).alias(name) for name, type_ in _FACTS.items() if type_ != "boolean"],
        [F.bool_or(name).alias(name) for name, type_ in _FACTS.items() if type_ == "boolean"],
    )
    return with_file_key(rows).groupBy(*FILE_KEY).agg(*largest, *flags)


def _fact_columns(frame: DataFrame) -> DataFrame:
    nothing = F.lit(None)
    given = ((F.col(name) if name in frame.columns else nothing.cast(type_)).alias(name) for name, type_ in _FACTS.items())
    return frame.select("audit_id", "path", *given)


def judged_directories(known: Known) -> DataFrame:
    """``held`` with all that is known of the audit, the root and the job: files are joined to it once."""
    as_of = F.col("as_of")
    guarded_from = as_of - F.make_dt_interval(hours=F.col("age_guard_h").cast("int"))
    future_from = as_of + F.make_dt_interval(hours=F.lit(FUTURE_AFTER_H))
    roots = known.roots.select("audit_id", "root", "as_of", guarded_from.alias("guarded_from"), future_from.alias("future_from"))
    flagged = (
        known.held.join(F.broadcast(roots), ["audit_id", "root"])
        .join(known.all_needed.withColumn("any_needed", F.lit(True)), "audit_id", "left")
        .join(known.doubted.withColumn("in_doubt", F.lit(True)), "audit_id", "left")
        .join(known.owners.drop("job_id"), ["audit_id", "root", "job_directory"], "left")
        .join(known.needed_jobs.withColumn("job_needed", F.lit(True)), ["audit_id", "job_id"], "left")
    )
    return flagged.fillna(False, ["any_needed", "in_doubt", "job_needed", "terminal", "seen"]).fillna(0, ["claims", "suspects"])
