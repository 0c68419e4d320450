"""Buffer pressure: samples of one vertex → one row per window, spread over its subtasks.

Each subtask is averaged over the window first, so that one short spike is not back-pressure; only
then subtasks are compared with each other.
"""

from pyspark.sql import DataFrame
from pyspark.sql import types as T

from spark_jobs.diagnosis.window_contents import WINDOW_MS
from spark_jobs.nested_tables import JOB
from spark_jobs.schemas import serving_schema
from spark_jobs.serving import PRESSURE_WINDOW
from spark_jobs.transforms.pressure_arrays import ARRAYS, ORDER, PLACE, READ, WHOLE, window_batches

# Flink renews its rates and time metrics over the last minute (MeterView, TimerGauge): a shorter window would show the same readings twice.
WINDOW_S = WINDOW_MS // 1000

_OF_SUBTASK = {"watermark_ms": T.LongType(), **dict.fromkeys(PLACE, T.StringType())}
_READINGS = T.StructType([
    T.StructField("vertex_id", T.StringType()),
    *(T.StructField(name, T.LongType()) for name in WHOLE),
    *(T.StructField(name, T.ArrayType(_OF_SUBTASK.get(name, T.DoubleType()))) for name in ARRAYS),
])  # fmt: skip
_SCHEMA = T.StructType([
    *(field for field in serving_schema(PRESSURE_WINDOW) if field.name != "vertex_name"),
    T.StructField("newest_ts", T.TimestampType()),
    T.StructField("readings", _READINGS),
])  # fmt: skip


def vertex_windows(vertex_metrics: DataFrame) -> DataFrame:
    """Lake rows of the touched windows → columns of ``pressure_window`` without the vertex' name, ``newest_ts``, and ``readings``.

    ``readings``: the fields of ``samples.VertexWindow``, an array over subtasks each.
    """
    dated = vertex_metrics.where("ts is not null").select(*READ)
    return dated.repartition(*JOB).sortWithinPartitions(*ORDER).mapInArrow(window_batches, _SCHEMA)
