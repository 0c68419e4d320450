"""What was passed over while collecting, and why."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.serving import SKIPPED_INPUT
from spark_jobs.transforms.contract import serving_rows
from spark_jobs.transforms.replays import newest_by


def skipped_inputs(skips: DataFrame) -> DataFrame:
    """Lake rows of ``skips`` → ``skipped_input`` rows, one for each thing skipped in one reading."""
    newest = newest_by(skips, SKIPPED_INPUT.key, ("commit_seq",))
    return serving_rows(newest.withColumn("as_of", F.col("observed_at")), SKIPPED_INPUT)
