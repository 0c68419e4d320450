"""Asking the rules about every job window, inside Spark: rows of job windows in, sights and judgements out."""

from collections.abc import Sequence
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.serving import FINDING_SIGHT, JOB_JUDGEMENT
from spark_jobs.transforms.contract import json_text, serving_rows
from spark_jobs.transforms.job_sights import JOB
from spark_jobs.transforms.judging import JUDGED_SCHEMA, Scoped, judged_batches


def diagnosed(job_windows: DataFrame, overrides: Sequence[Scoped] = (), recovery_points: Sequence[Scoped] = ()) -> DataFrame:
    """One row for each row of job windows: what was judged, and an array of sights. Hold it before it is used twice."""
    judge = partial(judged_batches, overrides=list(overrides), recovery_points=list(recovery_points))
    return job_windows.mapInArrow(judge, JUDGED_SCHEMA)


def finding_sights(judged: DataFrame) -> DataFrame:
    """Rows of ``finding_sight``."""
    sights = judged.select(*JOB, "job_name", F.explode("sights").alias("sight")).select(*JOB, "job_name", "sight.*")
    instants = {name: F.timestamp_millis(f"{name}_ms") for name in ("window_start", "seen_at", "as_of")}
    return serving_rows(sights.withColumns(instants), FINDING_SIGHT)


def job_judgements(judged: DataFrame) -> DataFrame:
    """Rows of ``job_judgement``."""
    newest = F.max_by("unknowns", "judged_to_ms")
    by_job = judged.groupBy(*JOB).agg(
        F.max("judged_to_ms").alias("judged_to_ms"), newest.alias("unknowns"), F.sort_array(F.flatten(F.collect_list("runs"))).alias("runs")
    )
    judged_to = F.timestamp_millis("judged_to_ms")
    return serving_rows(
        by_job.withColumns({"judged_to": judged_to, "as_of": judged_to, "windows": json_text(F.col("runs"))}), JOB_JUDGEMENT
    )


def newest_judged(judged: DataFrame, carried: DataFrame) -> DataFrame:
    """The newest judged window of each job: (cluster, job_id, window_start, judged_to). ``carried`` is an earlier result."""
    last = F.timestamp_seconds(F.array_max("runs.last"))
    now = judged.select(*JOB, last.alias("window_start"), F.timestamp_millis("judged_to_ms").alias("judged_to"))
    newest = now.unionByName(carried).groupBy(*JOB).agg(F.max(F.struct("window_start", "judged_to")).alias("newest"))
    return newest.select(*JOB, "newest.window_start", "newest.judged_to")
