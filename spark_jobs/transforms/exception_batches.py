"""Lake rows of ``exceptions`` as columns of ``job_exception``, over Arrow: for Spark's workers and for small cycles."""

import pyarrow as pa
import pyarrow.compute as pc

from ingest.traces import shortened
from spark_jobs.serving import JOB_EXCEPTION

STACKTRACE_CHARS = 16 * 1024
UNNAMED = "unknown"


def exception_columns(rows: pa.Table | pa.RecordBatch) -> dict[str, pa.Array]:
    """As often as they were reported; ``task_key`` is "" for a global failure."""
    traces = [trace and shortened(trace, STACKTRACE_CHARS) for trace in rows["stacktrace"].to_pylist()]
    made = {name: rows[name] for name in rows.schema.names} | {
        "task_key": pc.fill_null(rows["task"], ""),
        "exception_name": pc.fill_null(rows["exception_name"], UNNAMED),
        "stacktrace": pa.array(traces, pa.string()),
        # The last colon: IPv6 hosts hold colons of their own.
        "host": pc.replace_substring_regex(rows["endpoint"], r":[^:\]]*$", ""),
        "as_of": rows["observed_at"],
    }
    return {name: made[name] for name in JOB_EXCEPTION.column_names}
