"""What the logs tell of a job's life: submission, failures, restarts, restores, end."""

from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.diagnosis.window_contents import TERMINAL_STATES
from spark_jobs.transforms.contract import json_text
from spark_jobs.transforms.job_sights import JOB
from spark_jobs.transforms.snapshots import restore_detail, restore_label, restore_subject

CAUSE_CHARS = 500


def log_sights(events: DataFrame) -> DataFrame:
    """Located log events, each once, all of a job → sights (see ``rest_sights``), ``by_log`` true."""
    parts = (_deployed(events), _restarted(events), _failed(events), _restored(events), _ended(events))
    return reduce(lambda left, right: left.unionByName(right), parts)


def _deployed(events: DataFrame) -> DataFrame:
    submitted = events.filter("kind = 'job_submitted'")
    return submitted.select(*_sight("deploy", F.lit(""), F.lit("submitted"), F.lit(None).cast("struct<name:string>")))


def _restarted(events: DataFrame) -> DataFrame:
    states = events.filter("kind = 'job_state'")
    in_order = Window.partitionBy(*JOB, "process").orderBy("ts", "file", "offset", "record_hash", "ordinal")
    followed = states.withColumn("next", F.lead(F.struct("to_state", "ts")).over(in_order))
    runs_again = F.when(F.col("next.to_state") == "RUNNING", F.col("next.ts"))
    downtime = F.struct(runs_again.alias("running_at"), (F.unix_millis(runs_again) - F.unix_millis("ts")).alias("downtime_ms"))
    restarts = followed.filter("to_state = 'RESTARTING'")
    return restarts.select(*_sight("restart", F.lit(""), F.lit("restart"), F.when(runs_again.isNotNull(), downtime)))


def _failed(events: DataFrame) -> DataFrame:
    """Tasks that failed, and jobs that began to fail; the first of those that follow closely gives the words."""
    failed = events.filter(
        ((F.col("kind") == "task_state") & (F.col("to_state") == "FAILED"))
        | ((F.col("kind") == "job_state") & (F.col("to_state") == "FAILING"))
    )
    words = F.struct("task", "subtask", "attempt", "container", "host", F.substring("reason_text", 1, CAUSE_CHARS).alias("cause"))
    detail = F.when(F.col("task").isNotNull() | F.col("reason_text").isNotNull(), words)
    label = F.coalesce(F.concat(F.col("task"), F.lit(" failed")), F.lit("job failing"))
    return failed.select(*_sight("failure", F.lit(""), label, detail))


def _restored(events: DataFrame) -> DataFrame:
    snapshot = (F.lower("checkpoint_type"), F.col("checkpoint_id"), F.col("path"))
    return events.filter("kind = 'restored'").select(
        *_sight("restore", restore_subject(snapshot[1]), restore_label(*snapshot[:2]), restore_detail(*snapshot))
    )


def _ended(events: DataFrame) -> DataFrame:
    ended = events.filter(F.col("kind").isin("job_state", "job_terminal") & F.col("to_state").isin(*TERMINAL_STATES))
    return ended.select(*_sight("terminal", F.col("to_state"), F.lower("to_state"), F.lit(None).cast("struct<state:string>")))


def _sight(kind: str, subject: Column, label: Column, detail: Column) -> list[Column]:
    return [
        *(F.col(name) for name in JOB),
        F.lit(kind).alias("kind"),
        subject.alias("subject"),
        F.col("ts").alias("seen_at"),
        F.lit(True).alias("by_log"),
        detail.isNull().alias("vague"),
        label.alias("label"),
        json_text(detail).alias("detail"),
        F.col("observed_at").alias("as_of"),
    ]
