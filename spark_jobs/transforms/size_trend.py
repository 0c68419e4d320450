"""How the full state of a job grows: a robust slope since the last change point, and where that leads in a day.

The slope is Theil and Sen's: the median of the slopes between all pairs of points. Compactions, which
make the size of a RocksDB state a saw, and single wild points hardly move it.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.serving import CHECKPOINT_FACT, JOB_ANNOTATION, SIZE_TREND
from spark_jobs.transforms.contract import json_text, serving_rows
from spark_jobs.transforms.replays import newest_by

MIN_POINTS = 5
MAX_POINTS = 60
"""Points kept per job, evenly thinned: 1,770 pairs, whether the job has an hour or a month of checkpoints."""

STEP_POINTS = 5
"""A step must part this many points before it from as many after it."""
STEP_RATIO = 0.5
STEP_OVER_USUAL_CHANGE = 10
STEP_MIN_BYTES = 1024 * 1024

MAX_CHANGE_POINTS = 50
FORECAST_H = 24
MS_PER_H = 3_600_000

JOB = ("cluster", "job_id")
CUTTING_KINDS = ("restart", "restore", "step")
SHOWN_KINDS = (*CUTTING_KINDS, "savepoint")


def size_trends(facts: DataFrame, annotations: DataFrame) -> DataFrame:
    """All facts and annotations of the touched jobs → ``size_trend`` rows, one for each job that completed a checkpoint.

    Fewer than ``MIN_POINTS`` since the last change point leave the slope unknown; ``points`` says how many there are.
    """
    checkpoints = newest_by(facts, CHECKPOINT_FACT.key, ("final", "as_of")).filter(
        (F.col("outcome") == "completed") & ~F.coalesce("is_savepoint", F.lit(False))
    )
    points = _points(checkpoints)
    changes = _steps(points).unionByName(_annotated_changes(points, newest_by(annotations, JOB_ANNOTATION.key, ("as_of",))))
    jobs = checkpoints.groupBy(*JOB).agg(F.max("as_of").alias("as_of"))
    rows = (
        jobs.join(_change_points(changes), on=list(JOB), how="left")
        .join(_slopes(_since_last_change(points, changes)), on=list(JOB), how="left")
        .fillna({"points": 0, "change_points": "[]"})
    )
    return serving_rows(rows, SIZE_TREND)


def _points(checkpoints: DataFrame) -> DataFrame:
    # Releases before 1.15 report one size, the full one or the uploaded one depending on the release and the
    # backend; its ups and downs are not those of the state. They are known by the missing second size.
    told = checkpoints.filter(F.col("state_bytes").isNotNull() & F.col("checkpointed_bytes").isNotNull())
    return told.select(*JOB, F.coalesce("end_time", "trigger_time").alias("at"), "checkpoint_id", "state_bytes")


def _steps(points: DataFrame) -> DataFrame:
    """Points where the size leaves one band for another: all of the points after are beyond all of those before."""
    job = Window.partitionBy(*JOB)
    in_order = job.orderBy("at", "checkpoint_id")
    before = in_order.rowsBetween(-STEP_POINTS, -1)
    after = in_order.rowsBetween(0, STEP_POINTS - 1)
    size = F.col("state_bytes")
    banded = points.select(
        *JOB,
        "at",
        F.lag(size).over(in_order).alias("state_bytes_before"),
        size.alias("state_bytes_after"),
        (F.count(size).over(before) == STEP_POINTS).alias("has_before"),
        (F.count(size).over(after) == STEP_POINTS).alias("has_after"),
        F.greatest(
            F.min(size).over(after) - F.max(size).over(before),
            F.min(size).over(before) - F.max(size).over(after),
        ).alias("gap"),
        F.max(size).over(before).alias("level"),
        F.abs(size - F.lag(size).over(in_order)).alias("change"),
    )
    usual = banded.withColumn("usual_change", F.percentile("change", 0.5).over(job))
    is_step = (
        F.col("has_before")
        & F.col("has_after")
        & (F.col("gap") >= STEP_MIN_BYTES)
        & (F.col("gap") > STEP_RATIO * F.col("level"))
        & (F.col("gap") > STEP_OVER_USUAL_CHANGE * F.col("usual_change"))
    )
    return usual.filter(is_step).select(*JOB, "at", F.lit("step").alias("kind"), "state_bytes_before", "state_bytes_after")


def _annotated_changes(points: DataFrame, annotations: DataFrame) -> DataFrame:
    """Restarts, restores and savepoints, each with the sizes known right before and after it."""
    moments = annotations.filter(F.col("kind").isin(*SHOWN_KINDS)).select(
        *JOB, "at", F.lit(0).alias("is_point"), "kind", F.lit(None).cast("bigint").alias("state_bytes")
    )
    sizes = points.select(*JOB, "at", F.lit(1).alias("is_point"), F.lit(None).cast("string").alias("kind"), "state_bytes")
    job = Window.partitionBy(*JOB)
    # Both look backwards in their own order: a frame that ends at the last row would be walked anew for every row.
    forwards = job.orderBy("at", "is_point", "state_bytes").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    backwards = job.orderBy(F.desc("at"), F.desc("is_point"), F.desc("state_bytes")).rowsBetween(
        Window.unboundedPreceding, Window.currentRow
    )
    sized = (
        moments.unionByName(sizes)
        .withColumn("state_bytes_before", F.last("state_bytes", ignorenulls=True).over(forwards))
        .withColumn("state_bytes_after", F.last("state_bytes", ignorenulls=True).over(backwards))
    )
    return sized.filter("is_point = 0").select(*JOB, "at", "kind", "state_bytes_before", "state_bytes_after")


def _change_points(changes: DataFrame) -> DataFrame:
    """The newest ``MAX_CHANGE_POINTS`` of each job, oldest first, as JSON."""
    change = F.struct("at", "kind", "state_bytes_before", "state_bytes_after")
    listed = changes.groupBy(*JOB).agg(F.array_sort(F.collect_set(change)).alias("all"))
    newest = F.slice("all", F.greatest(F.lit(1), F.size("all") - (MAX_CHANGE_POINTS - 1)), MAX_CHANGE_POINTS)
    return listed.select(*JOB, json_text(newest).alias("change_points"))


def _since_last_change(points: DataFrame, changes: DataFrame) -> DataFrame:
    """At most ``MAX_POINTS`` per job, the newest among them, and how many there were."""
    last = changes.filter(F.col("kind").isin(*CUTTING_KINDS)).groupBy(*JOB).agg(F.max("at").alias("changed_at"))
    since = points.join(last, on=list(JOB), how="left").filter(F.col("changed_at").isNull() | (F.col("at") >= F.col("changed_at")))
    job = Window.partitionBy(*JOB)
    newest_first = job.orderBy(F.desc("at"), F.desc("checkpoint_id"), F.desc("state_bytes"))
    numbered = since.select(
        *JOB, "at", "state_bytes", F.row_number().over(newest_first).alias("number"), F.count(F.lit(1)).over(job).alias("points")
    )
    return numbered.filter((F.col("number") - 1) % F.ceil(F.col("points") / MAX_POINTS) == 0)


def _slopes(thinned: DataFrame) -> DataFrame:
    hour = (F.unix_millis("at") - F.unix_millis(F.col("to_time"))) / MS_PER_H
    by_job = thinned.withColumn("to_time", F.max("at").over(Window.partitionBy(*JOB)))
    collected = by_job.groupBy(*JOB).agg(
        F.min("at").alias("from_time"),
        F.max("at").alias("to_time"),
        F.max("points").alias("points"),
        # Hours before the newest point, so that the level at 0 is the level now.
        F.sort_array(F.collect_list(F.struct(hour.alias("hour"), F.col("state_bytes").cast("double").alias("bytes")))).alias("line"),
    )
    enough = collected.withColumn("slopes", F.when(F.col("points") >= MIN_POINTS, F.sort_array(_pairwise_slopes(F.col("line")))))
    slopes = enough.select(
        *JOB,
        "from_time",
        "to_time",
        "points",
        "line",
        _quantile(F.col("slopes"), 0.5).alias("bytes_per_h"),
        _quantile(F.col("slopes"), 0.1).alias("bytes_per_h_low"),
        _quantile(F.col("slopes"), 0.9).alias("bytes_per_h_high"),
    )
    levels = F.transform("line", lambda point: point["bytes"] - F.col("bytes_per_h") * point["hour"])
    level = slopes.withColumn("level", F.when(F.col("bytes_per_h").isNotNull(), _quantile(F.sort_array(levels), 0.5)))
    return level.withColumns(
        {f"forecast_24h{suffix}bytes": _forecast(f"bytes_per_h{suffix.rstrip('_')}") for suffix in ("_", "_low_", "_high_")}
    )


def _pairwise_slopes(line: Column) -> Column:
    """Slopes between every two points that are not at the same instant."""
    from_each = F.transform(
        line,
        lambda first: F.transform(
            F.filter(line, lambda second: second["hour"] > first["hour"]),
            lambda second: (second["bytes"] - first["bytes"]) / (second["hour"] - first["hour"]),
        ),
    )
    return F.flatten(from_each)


def _quantile(ascending: Column, part: float) -> Column:
    """Linear interpolation between the two nearest ranks; null for an empty or missing array."""
    place = F.lit(part) * (F.size(ascending) - 1)
    below = F.get(ascending, F.floor(place).cast("int"))
    above = F.get(ascending, F.ceil(place).cast("int"))
    return below + (above - below) * (place - F.floor(place))


def _forecast(slope: str) -> Column:
    return F.when(F.col(slope).isNotNull(), F.greatest(F.lit(0.0), F.col("level") + FORECAST_H * F.col(slope)))
