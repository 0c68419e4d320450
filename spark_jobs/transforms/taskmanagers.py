"""Samples of TaskManagers brought to the jobs that have slots on them."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.step_schemas import TASKMANAGER


def of_jobs(samples: DataFrame) -> DataFrame:
    """A row for each job; none where Flink does not say whose slots are (before 1.13)."""
    return samples.withColumn("job_id", F.explode(F.array_distinct("allocated_slots.job_id"))).select(*TASKMANAGER.names)
