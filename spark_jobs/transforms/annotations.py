"""What happened to a job and belongs on every one of its charts.

REST and the log note the same restart some milliseconds apart, and either may be missing. So
everything told is first a *sight*; sights of one kind and subject that lie close together are one
annotation, dated by REST where it told of it (it is polled in every cycle, logs may come later),
to the full second, so that a source that joins later does not move it. The first sight that is not vague
gives the words.
"""

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.serving import CHECKPOINT_FACT, JOB_ANNOTATION, LOG_EVENT
from spark_jobs.transforms.contract import json_text, serving_rows
from spark_jobs.transforms.instants import floor_to
from spark_jobs.transforms.job_sights import JOB
from spark_jobs.transforms.log_sights import log_sights
from spark_jobs.transforms.replays import newest_by
from spark_jobs.transforms.rest_sights import rest_sights

APART_MS = {
    # The Dispatcher logs a submission before the JobManager dates the job's start; on a busy machine, by seconds.
    "deploy": 10_000,
}
"""Sights of these kinds are apart only beyond this."""
APART_OTHERWISE_MS = 1_000

EVENT = (*JOB, "kind", "subject")


def annotations(jobs: DataFrame, facts: DataFrame, located_events: DataFrame) -> DataFrame:
    """Everything known of the touched jobs → ``job_annotation`` rows.

    Kinds: savepoint, restart, restore, deploy, failure, terminal, rescale. ``subject`` is the savepoint's
    id, the restored snapshot, the final state or the rescaled vertex; "" for the others.
    """
    events = newest_by(located_events.filter(F.col("job_id").isNotNull()), LOG_EVENT.key, ("observed_at",))
    sights = rest_sights(jobs).unionByName(log_sights(events))
    checkpoints = newest_by(facts, CHECKPOINT_FACT.key, ("final", "as_of"))
    return serving_rows(_one_each(sights).unionByName(_savepoints(checkpoints)), JOB_ANNOTATION)


def _one_each(sights: DataFrame) -> DataFrame:
    """One row per run of sights that follow each other closely."""
    event = Window.partitionBy(*EVENT)
    in_order = event.orderBy("seen_at", "by_log", "vague", "label", "detail")
    apart_ms = reduce(
        lambda otherwise, kind: F.when(F.col("kind") == kind, F.lit(APART_MS[kind])).otherwise(otherwise),
        APART_MS,
        F.lit(APART_OTHERWISE_MS),
    )
    begins = F.unix_millis("seen_at") - F.unix_millis(F.lag("seen_at").over(in_order)) > apart_ms
    runs = sights.withColumn("begins", F.coalesce(begins, F.lit(True)).cast("int")).withColumn(
        "run", F.sum("begins").over(in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    )
    words = F.min(F.struct("vague", "seen_at", "by_log", "label", "detail"))
    folded = runs.groupBy(*EVENT, "run").agg(
        F.min(F.struct("by_log", "seen_at")).getField("seen_at").alias("seen_at"),
        words.alias("words"),
        F.max("as_of").alias("as_of"),
    )
    return folded.select(
        *EVENT, floor_to("seen_at", 1).alias("at"), F.col("words.label").alias("label"), F.col("words.detail").alias("detail"), "as_of"
    )


def _savepoints(checkpoints: DataFrame) -> DataFrame:
    number = F.col("checkpoint_id").cast("string")
    detail = F.struct("checkpoint_id", "outcome", "end_to_end_ms", "state_bytes", F.col("external_path").alias("path"))
    return checkpoints.filter("is_savepoint").select(
        *JOB,
        F.lit("savepoint").alias("kind"),
        number.alias("subject"),
        F.col("trigger_time").alias("at"),
        F.concat(F.lit("savepoint "), number, _unless_completed()).alias("label"),
        json_text(detail).alias("detail"),
        "as_of",
    )


def _unless_completed() -> Column:
    return F.when(F.col("outcome") == "completed", F.lit("")).otherwise(F.concat(F.lit(" "), F.replace("outcome", F.lit("_"), F.lit(" "))))
