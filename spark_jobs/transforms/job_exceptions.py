"""Root and concurrent exceptions of jobs."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.serving import JOB_EXCEPTION
from spark_jobs.transforms.contract import serving_rows

STACKTRACE_CHARS = 16 * 1024
UNNAMED = "unknown"


def job_exceptions(exceptions: DataFrame) -> DataFrame:
    """Lake rows of ``exceptions`` → ``job_exception`` rows, as often as they were told; ``task_key`` is "" for a global failure."""
    told = exceptions.withColumns(
        {
            "task_key": F.coalesce("task", F.lit("")),
            "exception_name": F.coalesce("exception_name", F.lit(UNNAMED)),
            "stacktrace": F.substring("stacktrace", 1, STACKTRACE_CHARS),
            # The last colon: IPv6 hosts hold colons of their own.
            "host": F.regexp_replace("endpoint", r":[^:\]]*$", ""),
            "as_of": F.col("observed_at"),
        }
    )
    return serving_rows(told, JOB_EXCEPTION)
