"""From a listing to what its ``_metadata`` refer to, read on executors, with what could not be read."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.uris import Spellings
from spark_jobs.schemas import spark_schema
from spark_jobs.storage import operator_states, parsing
from spark_jobs.storage.inputs import REFERENCES
from spark_jobs.storage.layout_columns import (
    METADATA_SUFFIX,
    is_metadata,
    with_job_directory,
    with_places,
)

WANTED = spark_schema(parsing.WANTED)
PARSED = spark_schema(parsing.PARSED)


@dataclass(frozen=True)
class Read:
    references: DataFrame
    operators: DataFrame
    doubts: DataFrame
    vanished: DataFrame


def wanted(listing: DataFrame) -> DataFrame:
    """Every ``_metadata`` listed, wherever it lies: a moved or copied checkpoint still refers."""
    named = listing.where(is_metadata(F.col("path")))
    return named.select(
        "audit_id",
        "root",
        "path",
        F.col("listed_path").alias("read_path"),
        "bytes",
        F.date_trunc("MILLISECOND", "modified").alias("modified"),
    )


def parsed(wanted: DataFrame, tasks: int) -> DataFrame:
    """``PARSED`` rows. ``tasks`` spread the files: each costs a round trip to storage."""
    return wanted.repartition(tasks, F.xxhash64("path")).mapInArrow(parsing.parsed, PARSED)


def successors(parsed: DataFrame, wanted: DataFrame) -> DataFrame:
    """What came after files that vanished, as ``wanted`` rows; one look into each job's directory."""
    gone = parsed.where(F.col("failure") == "vanished_metadata").select("audit_id", F.col("metadata_path").alias("path"))
    places = with_job_directory(with_places(wanted.join(gone, ["audit_id", "path"])))
    in_job = places.where(F.col("place") == "metadata")
    one = in_job.groupBy("audit_id", "root", "job_directory").agg(
        F.min("path").alias("path"), F.min_by("read_path", "path").alias("read_path")
    )
    found = one.select("audit_id", "root", "path", "read_path").mapInArrow(parsing.successors, WANTED)
    return found.join(wanted.select("audit_id", "path"), ["audit_id", "path"], "left_anti").select(*WANTED.fieldNames())


def outcome(parsed: DataFrame, spellings_of: Mapping[str, Spellings]) -> Read:
    """What was read, and the doubts. A vanished checkpoint is none where a later one of its job was read instead."""
    failed = parsed.where(F.col("failure").isNotNull())
    whole = parsed.where(F.col("ordinal") == 0).drop("job_id", "checkpoint_id")
    read = with_job_directory(with_places(whole, "metadata_path"), "metadata_path")
    of_checkpoints = read.where(F.col("place") == "metadata")
    newest = of_checkpoints.groupBy("audit_id", "job_directory").agg(F.max("checkpoint_id").alias("newest"))
    missed = failed.select("audit_id", "root", "metadata_path", "failure", "failure_detail")
    placed = with_job_directory(with_places(missed, "metadata_path"), "metadata_path")
    followed = placed.join(newest, ["audit_id", "job_directory"], "left").withColumn(
        "followed", F.coalesce((F.col("failure") == "vanished_metadata") & (F.col("newest") > F.col("checkpoint_id")), F.lit(False))
    )
    spelled = partial(parsing.canonicalised, spellings_of=dict(spellings_of))
    rows = parsed.where(F.col("failure").isNull()).select(*REFERENCES.names).mapInArrow(spelled, REFERENCES)
    unspelled = rows.where(F.col("path").isNull() & F.col("written_path").isNotNull())
    bad = unspelled.groupBy("audit_id", F.col("metadata_path").alias("subject")).agg(
        F.max("root").alias("root"),
        F.concat(F.lit("It refers to "), F.substring(F.min("written_path"), 1, 200), F.lit(", which is no URI.")).alias("detail"),
    )
    doubts = followed.where(~F.col("followed")).select(
        "audit_id",
        F.col("metadata_path").alias("subject"),
        F.col("failure").alias("reason"),
        "root",
        F.col("failure_detail").alias("detail"),
    )
    vanished = failed.where(F.col("failure") == "vanished_metadata").select("audit_id", "metadata_path")
    operators = operator_states.notable_operators(parsed.where(F.col("failure").isNull()))
    return Read(rows, operators, doubts.unionByName(bad.withColumn("reason", F.lit("bad_path"))), vanished)


def with_canonical_paths(jobs: DataFrame, spellings_of: Mapping[str, Spellings]) -> DataFrame:
    """``restored_path`` and ``last_completed_path`` as canonical directories.

    Flink takes the path of the ``_metadata`` as well. Adds ``written_directory``: the job directory
    that the job is known to write, null where its last checkpoint says of none.
    """
    for name in ("restored_path", "last_completed_path"):
        spelled = partial(parsing.canonicalised, spellings_of=dict(spellings_of), column=name)
        jobs = jobs.mapInArrow(spelled, jobs.schema)
        jobs = jobs.withColumn(name, F.regexp_replace(name, f"{METADATA_SUFFIX}$", ""))
    written = F.regexp_extract("last_completed_path", "^([\\s\\S]+/[0-9a-f]{32})/chk-[0-9]+/?$", 1)
    own = F.substring_index(written, "/", -1) == F.col("job_id")
    return jobs.withColumn("written_directory", F.when((written != "") & own, written))
