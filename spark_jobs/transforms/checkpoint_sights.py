"""What REST said of a checkpoint, many sights folded into one."""

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.transforms.checkpoint_triggers import KEY

FINAL_STATUS = ("COMPLETED", "FAILED")

_TOLD = (
    "status", "is_savepoint", "savepoint_format", "checkpoint_type", "latest_ack_time", "end_to_end_ms", "state_bytes",
    "checkpointed_bytes", "processed_bytes", "persisted_bytes", "subtasks", "acknowledged", "external_path", "discarded",
    "failure_time", "failure_message",
)  # fmt: skip


def checkpoint_sights(checkpoints: DataFrame) -> DataFrame:
    """One row per checkpoint that REST ever showed: for each column what the latest sight knew of it.

    A final sight is later than any that found it in progress, whenever that was; so an answer that came
    late never takes an outcome back.
    """
    folded = checkpoints.groupBy(*KEY).agg(*latest_known(_TOLD), F.max("observed_at").alias("rest_as_of"))
    return folded.withColumnRenamed("status", "rest_status")


def latest_known(names: Iterable[str], tie_breakers: Iterable[str] = ()) -> list[Column]:
    """For each column the value that is not null of the latest sight, ties by value."""
    rank = [is_final(F.col("status")), *(F.col(name) for name in tie_breakers), F.col("observed_at")]
    return [F.max_by(name, F.when(F.col(name).isNotNull(), F.struct(*rank, F.col(name)))).alias(name) for name in names]


def is_final(status: Column) -> Column:
    return F.coalesce(status.isin(*FINAL_STATUS), F.lit(False))
