"""Root and concurrent exceptions of jobs, each once."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.serving import JOB_EXCEPTION
from spark_jobs.transforms.contract import serving_rows
from spark_jobs.transforms.replays import newest_by

STACKTRACE_CHARS = 16 * 1024
UNNAMED = "unknown"


def job_exceptions(exceptions: DataFrame) -> DataFrame:
    """Lake rows of ``exceptions`` → ``job_exception`` rows.

    ``task_key`` is the task, "" for a global failure. An exception once reported as a root stays one: the
    history of a later release of the answer may list it again among the concurrent ones.
    """
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
    return serving_rows(newest_by(told, JOB_EXCEPTION.key, ("is_root", "observed_at", "commit_seq")), JOB_EXCEPTION)
