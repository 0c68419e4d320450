"""A job as REST told of it: what each of many sights knew, carried forward into one row."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.transforms.contract import json_text

JOB = ("cluster", "job_id")


def job_sights(jobs: DataFrame) -> DataFrame:
    """Lake rows of ``jobs`` → one row per job.

    Each value is that of the newest sight that had it; those that only make sense together (state and
    end, a restore, the checkpoint settings) come from one sight. Columns that a log may tell of too
    begin with ``rest_``.
    """
    told = (
        jobs.filter(F.col("job_id").isNotNull())
        .groupBy(*JOB)
        .agg(
            *(
                _newest((name,), having=F.col(name).isNotNull()).getField(name).alias(f"rest_{name}")
                for name in ("name", "start_time", "restarts")
            ),
            *(_newest((name,), having=F.col(name).isNotNull()).getField(name).alias(name) for name in ("flink_version", "parallelism")),
            _newest(("state", "end_time", "observed_at"), having=F.col("state").isNotNull()).alias("state"),
            _newest(_RESTORE, having=F.col("restored_at").isNotNull()).alias("restore"),
            _newest(_CHECKPOINTING, having=F.coalesce("checkpointing_mode", "checkpoint_storage", "state_backend").isNotNull()).alias(
                "checkpointing"
            ),
            # Before the plan is made, the job is reported with an empty one.
            _newest(("vertices", "edges"), having=F.size("vertices") > 0).alias("plan"),
            _newest(("configuration",), having=F.size("configuration") > 0).getField("configuration").alias("settings"),
            F.min("observed_at").alias("rest_first_seen_at"),
            F.max("observed_at").alias("rest_last_seen_at"),
        )
    )
    return told.select(
        *JOB,
        "rest_name",
        F.col("state.state").alias("rest_state"),
        F.col("state.observed_at").alias("rest_state_at"),
        "rest_start_time",
        F.col("state.end_time").alias("rest_end_time"),
        "flink_version",
        "parallelism",
        F.when(F.col("plan").isNotNull(), F.size("plan.vertices")).alias("vertex_count"),
        "rest_restarts",
        json_text(_graph()).alias("graph"),
        json_text(_checkpoint_config()).alias("checkpoint_config"),
        F.to_json(F.map_from_entries(_last_of_each_key(F.col("settings")))).alias("configuration"),
        F.col("checkpointing.checkpoint_interval_ms").alias("checkpoint_interval_ms"),
        F.col("checkpointing.checkpoint_timeout_ms").alias("checkpoint_timeout_ms"),
        *(F.col(f"restore.{name}").alias(f"rest_{name}") for name in _RESTORE),
        "rest_first_seen_at",
        "rest_last_seen_at",
    )


_RESTORE = ("restored_at", "restored_checkpoint_id", "restored_is_savepoint", "restored_path")

# Lake column → name within the JSON of ``checkpoint_config``.
_CHECKPOINT_CONFIG = {
    "checkpointing_mode": "mode",
    "checkpoint_interval_ms": "interval_ms",
    "checkpoint_timeout_ms": "timeout_ms",
    "min_pause_ms": "min_pause_ms",
    "max_concurrent_checkpoints": "max_concurrent",
    "unaligned_checkpoints": "unaligned",
    "aligned_checkpoint_timeout_ms": "aligned_timeout_ms",
    "tolerable_failed_checkpoints": "tolerable_failed",
    "externalized": "externalized",
    "retained_on_cancellation": "retained_on_cancellation",
    "state_backend": "state_backend",
    "checkpoint_storage": "checkpoint_storage",
    "changelog_enabled": "changelog_enabled",
}
_CHECKPOINTING = tuple(_CHECKPOINT_CONFIG)


def _newest(names: Sequence[str], *, having: Column) -> Column:
    """Struct of ``names`` from the newest row where ``having`` holds; the content decides between rows of one instant."""
    values = [F.col(name).alias(f"value_{n}") for n, name in enumerate(names)]
    ranked = F.max(F.when(having, F.struct(F.col("observed_at").alias("at"), F.col("commit_seq").alias("seq"), *values)))
    taken = F.struct(*(ranked.getField(f"value_{n}").alias(name) for n, name in enumerate(names)))
    return F.when(ranked.isNotNull(), taken)


def _graph() -> Column:
    vertices = F.transform(
        "plan.vertices", lambda vertex: F.struct(vertex["vertex_id"], vertex["name"], vertex["parallelism"], vertex["status"])
    )
    edges = F.transform(
        F.coalesce("plan.edges", F.array()),
        lambda edge: F.struct(
            edge["source_vertex_id"].alias("source"), edge["target_vertex_id"].alias("target"), edge["ship_strategy"].alias("ship_strategy")
        ),
    )
    return F.when(F.col("plan").isNotNull(), F.struct(vertices.alias("vertices"), edges.alias("edges")))


def _checkpoint_config() -> Column:
    settings = F.struct(*(F.col(f"checkpointing.{column}").alias(name) for column, name in _CHECKPOINT_CONFIG.items()))
    return F.when(F.col("checkpointing").isNotNull(), settings)


def _last_of_each_key(settings: Column) -> Column:
    """Sorted by key, one entry each: a map with a key twice would fail the whole job."""
    ordered = F.array_sort(F.filter(settings, lambda setting: setting["key"].isNotNull()))
    return F.filter(ordered, lambda setting, place: ~setting["key"].eqNullSafe(F.get(ordered, place + 1).getField("key")))
