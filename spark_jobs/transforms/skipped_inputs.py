"""What was passed over while collecting, and why."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.schemas import serving_columns
from spark_jobs.serving import SKIPPED_INPUT


def skipped_inputs(skips: DataFrame) -> DataFrame:
    """Lake rows of ``skips`` → ``skipped_input`` rows, as often as they were read; they name no job."""
    return serving_columns(skips.withColumn("as_of", F.col("observed_at")), SKIPPED_INPUT).withColumn("job_id", F.lit(None).cast("string"))
