"""Root and concurrent exceptions of jobs."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ingest.traces import CAUSED, CUT
from spark_jobs.schemas import serving_columns
from spark_jobs.serving import JOB_EXCEPTION

STACKTRACE_CHARS = 16 * 1024
UNNAMED = "unknown"


def job_exceptions(exceptions: DataFrame) -> DataFrame:
    """Lake rows of ``exceptions`` → ``job_exception`` rows, as often as they were reported; ``task_key`` is "" for a global failure."""
    reported = exceptions.withColumns(
        {
            "task_key": F.coalesce("task", F.lit("")),
            "exception_name": F.coalesce("exception_name", F.lit(UNNAMED)),
            "stacktrace": _shortened(F.col("stacktrace")),
            # The last colon: IPv6 hosts hold colons of their own.
            "host": F.regexp_replace("endpoint", r":[^:\]]*$", ""),
            "as_of": F.col("observed_at"),
        }
    )
    return serving_columns(reported, JOB_EXCEPTION)


def _shortened(trace: Column) -> Column:
    """:func:`ingest.traces.shortened` to ``STACKTRACE_CHARS``."""
    caused = CAUSED.removeprefix("\n")
    is_caused = F.contains(trace, F.lit(CAUSED))
    innermost = F.when(is_caused, F.concat(F.lit(caused), F.substring_index(trace, CAUSED, -1))).otherwise(trace)
    tail = F.substring(innermost, 1, STACKTRACE_CHARS // 2)
    head = F.lit(STACKTRACE_CHARS - len(CUT)) - F.length(tail)
    fits = F.length(trace) <= STACKTRACE_CHARS
    begins_before = F.length(trace) - F.length(innermost) <= head
    both = F.concat(F.substring(trace, F.lit(1), head), F.lit(CUT), tail)
    return F.when(fits, trace).when(begins_before, F.substring(trace, 1, STACKTRACE_CHARS)).otherwise(both)
