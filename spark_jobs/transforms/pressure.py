"""Buffer pressure: samples of one vertex → one row per window, spread over its subtasks.

Each subtask is averaged over the window first, so that one short spike is not back-pressure; only
then subtasks are compared with each other.
"""

from dataclasses import fields

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.diagnosis.samples import VertexWindow
from spark_jobs.diagnosis.window_contents import WINDOW_MS
from spark_jobs.serving import PRESSURE_WINDOW
from spark_jobs.transforms.contract import serving_rows
from spark_jobs.transforms.instants import floor_to
from spark_jobs.transforms.replays import newest_by

# Flink renews its rates and time metrics over the last minute (MeterView, TimerGauge): a shorter window would show the same readings twice.
WINDOW_S = WINDOW_MS // 1000

HIGH_POOL_USAGE = 0.8
LARGER_PART = 0.5
FULL_MS_PER_S = 1000.0

VERTEX = ("cluster", "job_id", "vertex_id")
WINDOW = (*VERTEX, "window_start")

# Serving prefix → lake column. Each gets p50, max and mean over subtasks.
SPREAD = {
    "in_pool": "in_pool_usage",
    "out_pool": "out_pool_usage",
    "exclusive": "exclusive_usage",
    "floating": "floating_usage",
    "busy_ms_per_s": "busy_ms_per_s",
    "backpressured_ms_per_s": "backpressured_ms_per_s",
    "idle_ms_per_s": "idle_ms_per_s",
}
MEASURES = (*SPREAD.values(), "backpressured_ratio", "records_in_per_s", "records_out_per_s")
PLACE = ("host", "taskmanager_id")
PER_SUBTASK = (*MEASURES, "watermark_ms", "task_state", *PLACE)
WHOLE_SAMPLE = -1


VERTEX_NAMES_SCHEMA = "cluster string, job_id string, vertex_id string, observed_at timestamp, vertex_name string"
PAST = ("vertex_id", "window_start", "watermark_ms", "records_in_per_s", "records_out_per_s", "backpressured_share", "busy_share", "as_of")
"""Columns of ``pressure_window`` that rules compare a window with."""


def pressure_windows(vertex_metrics: DataFrame, names: DataFrame) -> DataFrame:
    """Lake rows of the touched windows, and names of their vertices → ``pressure_window`` rows."""
    return serving_rows(vertex_windows(vertex_metrics, names), PRESSURE_WINDOW)


def vertex_windows(vertex_metrics: DataFrame, names: DataFrame) -> DataFrame:
    """The same and two columns more: ``newest_ts``, and ``readings``, per subtask a struct of ``subtask``, its means and its place."""
    windowed = vertex_metrics.withColumn("window_start", floor_to("ts", WINDOW_S))
    # One exchange, of nested rows: every grouping below refines this partitioning.
    samples = newest_by(windowed.repartition(*WINDOW), (*WINDOW, "ts"), ("observed_at", "commit_seq"))
    by_subtask = _subtask_means(_subtask_samples(samples))
    windows = _over_subtasks(by_subtask).join(names.drop("observed_at"), on=list(VERTEX), how="left")
    return windows.withColumn("window_s", F.lit(WINDOW_S))


def _subtask_samples(samples: DataFrame) -> DataFrame:
    """One row per subtask and sample, and one ``WHOLE_SAMPLE`` row per sample, which counts it even where no subtask reported."""
    element = {name: samples.schema[name].dataType.elementType.simpleString() for name in PER_SUBTASK}  # type: ignore[attr-defined]
    # arrays_zip pads the shorter arrays with nulls, but one missing array would make all of them null.
    zipped = F.arrays_zip(*(F.coalesce(F.col(name), F.array().cast(f"array<{element[name]}>")).alias(name) for name in PER_SUBTASK))
    nothing = F.struct(*(F.lit(None).cast(element[name]).alias(name) for name in PER_SUBTASK))
    exploded = samples.select(
        *WINDOW, "ts", "observed_at", "parallelism", F.posexplode(F.concat(F.array(nothing), zipped)).alias("position", "reading")
    ).withColumn("subtask", F.col("position") + WHOLE_SAMPLE)
    reading = exploded.select(*WINDOW, "ts", "observed_at", "parallelism", "subtask", "reading.*")
    return reading.select(
        *WINDOW,
        "ts",
        "observed_at",
        "parallelism",
        "subtask",
        F.when(_is_running(), F.col("watermark_ms")).alias("watermark_ms"),
        *PLACE,
        *(F.when(_is_running(), _busy_or_unknown() if name == "busy_ms_per_s" else F.col(name)).alias(name) for name in MEASURES),
    )


def _is_running() -> Column:
    """Tasks that are being set up or torn down report figures of no meaning; an unknown state is given the benefit of the doubt."""
    return F.coalesce(F.col("task_state") == "RUNNING", F.lit(True))


def _busy_or_unknown() -> Column:
    """Busy time, unless it is a start-up value.

    Flink derives it as what is neither idle nor back-pressured, so a task that has not begun shows a full second;
    and as metrics are fetched every ten seconds, that reading outlives the INITIALIZING state (seen for 5 s in 1.20).
    A full second counts only if there is anything to be busy with.
    """
    works = (
        (F.coalesce("records_in_per_s", F.lit(0.0)) > 0)
        | (F.coalesce("records_out_per_s", F.lit(0.0)) > 0)
        | (F.coalesce("in_pool_usage", F.lit(0.0)) > 0)
    )
    return F.when((F.col("busy_ms_per_s") < FULL_MS_PER_S) | works, F.col("busy_ms_per_s"))


def _subtask_means(readings: DataFrame) -> DataFrame:
    return readings.groupBy(*WINDOW, "subtask").agg(
        F.count(F.lit(1)).alias("samples"),
        F.max("observed_at").alias("observed_at"),
        F.max(F.when(F.col("parallelism").isNotNull(), F.struct("ts", "parallelism"))).alias("newest_parallelism"),
        *(F.avg(name).alias(name) for name in MEASURES),
        F.max(F.when(F.col("watermark_ms").isNotNull(), F.struct("ts", "watermark_ms"))).alias("newest_watermark"),
        F.max(F.when(F.coalesce(*PLACE).isNotNull(), F.struct("ts", *PLACE))).alias("newest_place"),
        F.max("ts").alias("newest_ts"),
    )


def _over_subtasks(subtasks: DataFrame) -> DataFrame:
    whole = F.col("subtask") == WHOLE_SAMPLE
    rates = F.array_sort(F.collect_list("records_in_per_s"))
    spread = subtasks.groupBy(*WINDOW).agg(
        F.max(F.when(whole, F.col("samples"))).alias("samples"),
        F.max("observed_at").alias("as_of"),
        F.coalesce(F.max("newest_parallelism").getField("parallelism"), F.max("subtask") + 1).alias("parallelism"),
        *(
            stat(column).alias(f"{prefix}_{name}")
            for prefix, column in SPREAD.items()
            for name, stat in (("p50", F.median), ("max", F.max), ("mean", F.avg))
        ),
        _share_of(_backpressured_part() > LARGER_PART).alias("backpressured_share"),
        _share_of(F.col("busy_ms_per_s") / FULL_MS_PER_S > LARGER_PART).alias("busy_share"),
        _share_of(F.col("in_pool_usage") > HIGH_POOL_USAGE).alias("in_pool_high_share"),
        _share_of(F.col("out_pool_usage") > HIGH_POOL_USAGE).alias("out_pool_high_share"),
        F.sum("records_in_per_s").alias("records_in_per_s"),
        F.sum("records_out_per_s").alias("records_out_per_s"),
        F.try_divide(F.max("records_in_per_s"), F.median("records_in_per_s")).alias("records_in_max_over_median"),
        rates.alias("rates"),
        F.coalesce(_subtask_with_largest("busy_ms_per_s"), _subtask_with_largest("records_in_per_s")).alias("hottest_subtask"),
        F.min("newest_watermark.watermark_ms").alias("watermark_ms"),
        F.max("newest_ts").alias("newest_ts"),
        F.array_sort(F.collect_list(F.when(~whole, _reading()))).alias("readings"),
    )
    return spread.withColumn("records_in_gini", _gini(F.col("rates")))


def _reading() -> Column:
    measured = (F.col(name) for name in MEASURES)
    place = (F.col(f"newest_place.{name}").alias(name) for name in PLACE)
    return F.struct("subtask", *measured, F.col("newest_watermark.watermark_ms").alias("watermark_ms"), *place)


def _backpressured_part() -> Column:
    """0..1 of the window. Time metrics decide; before 1.13 only the back-pressure endpoint tells."""
    return F.coalesce(F.col("backpressured_ms_per_s") / FULL_MS_PER_S, F.col("backpressured_ratio"))


def _share_of(condition: Column) -> Column:
    """Share of the subtasks of which ``condition`` is known."""
    return F.avg(condition.cast("double"))


def _subtask_with_largest(name: str) -> Column:
    """The lowest index wins a tie; null where no subtask has more than zero."""
    return F.max_by("subtask", F.when(F.col(name) > 0, F.struct(F.col(name), -F.col("subtask"))))


def _gini(ascending: Column) -> Column:
    """Gini coefficient of rates sorted upwards, scaled so that all on one of n subtasks is 1 at every n.

    A single subtask is even by definition; without any records there is nothing to be uneven.
    """
    count = F.size(ascending)
    start = F.struct(F.lit(0).alias("rank"), F.lit(0.0).alias("total"), F.lit(0.0).alias("ranked"))
    sums = F.aggregate(
        ascending,
        start,
        lambda sums, rate: F.struct(
            (sums["rank"] + 1).alias("rank"),
            (sums["total"] + rate).alias("total"),
            (sums["ranked"] + (sums["rank"] + 1) * rate).alias("ranked"),
        ),
    )
    plain = F.try_divide(2 * sums["ranked"], count * sums["total"]) - F.try_divide(count + 1.0, count)
    return F.when(count == 1, F.lit(0.0)).when(sums["total"] > 0, plain * F.try_divide(count, count - 1.0))


def vertex_names(jobs: DataFrame, carried: DataFrame) -> DataFrame:
    """(cluster, job_id, vertex_id, observed_at, vertex_name) of lake rows of jobs: as last reported. ``carried`` is an earlier result."""
    named = jobs.select("cluster", "job_id", "observed_at", F.explode("vertices").alias("vertex"))
    now = named.select("cluster", "job_id", "vertex.vertex_id", "observed_at", F.col("vertex.name").alias("vertex_name"))
    newest = now.unionByName(carried).groupBy(*VERTEX).agg(F.max(F.struct("observed_at", "vertex_name")).alias("seen"))
    return newest.select(*VERTEX, "seen.*")


def vertex_window_samples(windows: DataFrame) -> DataFrame:
    """Rows of :func:`vertex_windows` with the fields of ``samples.VertexWindow``, an array over subtasks each, and ``newest_ts``."""
    ratios = {
        "busy_ratio": lambda reading: reading["busy_ms_per_s"] / FULL_MS_PER_S,
        "backpressured_ratio": lambda reading: F.coalesce(
            reading["backpressured_ms_per_s"] / FULL_MS_PER_S, reading["backpressured_ratio"]
        ),
        "idle_ratio": lambda reading: reading["idle_ms_per_s"] / FULL_MS_PER_S,
    }
    whole = ("vertex_id", "parallelism", "samples")
    arrays = [field.name for field in fields(VertexWindow) if field.name not in whole]
    return windows.select(
        "cluster", "job_id", "window_start", "newest_ts", *whole,
        *(F.transform("readings", ratios.get(name) or _taken(name)).alias(name) for name in arrays),
    )  # fmt: skip


def _taken(name: str):  # type: ignore[no-untyped-def]  # a function of columns, as F.transform wants it
    return lambda reading: reading[name]
