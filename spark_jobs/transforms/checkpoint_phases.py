"""Phases of a checkpoint over all its subtasks, the slowest of them, and who did not acknowledge.

Phases are the largest over all subtasks and thus of different subtasks: they do not add up. Those of the
slowest subtask belong together. For unaligned checkpoints the asynchronous part may hold the alignment.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.serving import PHASES
from spark_jobs.transforms.checkpoint_sights import latest_known
from spark_jobs.transforms.checkpoint_triggers import KEY
from spark_jobs.transforms.contract import json_text

INDEXES_KEPT = 50
HOSTS_KEPT = 50

_TIMES = tuple(f"subtask_{name}_ms" for name in ("end_to_end", *PHASES))


def vertex_parts(vertex_checkpoints: DataFrame, hosts: DataFrame) -> DataFrame:
    """One row per checkpoint and vertex: counts of the latest sight, subtask arrays of the latest that had them.

    ``hosts`` of the vertex are those last known at the trigger, else the first known after it.
    """
    told = ("subtasks", "acknowledged", "subtask_ack_time", "subtask_unaligned", *_TIMES)
    parts = vertex_checkpoints.groupBy(*KEY, "vertex_id").agg(
        *latest_known(told, tie_breakers=("acknowledged",)), F.max("observed_at").alias("vertex_as_of")
    )
    return parts.join(_host_history(hosts), on=["cluster", "job_id", "vertex_id"], how="left").select(parts["*"], _hosts_at_trigger())


def checkpoint_phases(parts: DataFrame) -> DataFrame:
    """Vertex parts → one row per checkpoint. ``slowest`` is a struct; ``missing`` holds a struct per vertex that lacks somebody."""
    vertices = parts.select(
        *KEY, "vertex_id", "hosts", "vertex_as_of", "subtask_unaligned", _subtasks().alias("done"), _missing().alias("missing")
    )
    derived = F.exists("done", lambda subtask: subtask.is_derived)
    largest = [F.max(F.array_max(F.col(f"done.{phase}_ms"))).alias(f"{phase}_ms") for phase in PHASES]
    return vertices.groupBy(*KEY).agg(
        *largest,
        F.max(derived).alias("phases_derived"),
        F.max(F.exists("subtask_unaligned", lambda unaligned: F.coalesce(unaligned, F.lit(False)))).alias("unaligned"),
        F.max(_slowest_of_vertex()).alias("slowest"),
        F.flatten(F.collect_list("done.end_to_end_ms")).alias("durations"),
        F.sort_array(F.collect_list(F.when(F.col("missing.count") > 0, F.struct("vertex_id", "missing")))).alias("missing"),
        F.max("vertex_as_of").alias("vertex_as_of"),
    )


def late_subtask_share() -> Column:
    """Share of subtasks that took more than half as long as the slowest; null where no durations are known."""
    late = F.filter("durations", lambda duration: duration * 2 > F.col("slowest.end_to_end_ms"))
    return F.when(F.size("durations") > 0, F.size(late) / F.size("durations"))


def dominant_phase() -> Column:
    """The longest phase of the slowest subtask, the earlier one where two are equal; null where all are 0 or unknown."""
    longest = F.greatest(*(F.col(f"slowest.{phase}_ms") for phase in PHASES))
    first = F.lit(None).cast("string")
    for phase in reversed(PHASES):
        first = F.when(F.col(f"slowest.{phase}_ms") == longest, F.lit(phase)).otherwise(first)
    return F.when(longest > 0, first)


def not_acknowledged_json(names: Column, subtasks: Column, acknowledged: Column) -> Column:
    """Who had not acknowledged, by vertex; a count alone where only counts are known; null where nobody is missing."""
    by_vertex = F.transform(
        "missing",
        lambda part: F.struct(
            part.vertex_id,
            names[part.vertex_id].alias("vertex_name"),
            part.missing.indexes.alias("subtasks"),
            part.missing["count"].alias("count"),
            part.missing.hosts.alias("hosts"),
        ),
    )
    nobody = F.lit(None).cast("string")
    only_count = F.array(
        F.struct(
            nobody.alias("vertex_id"),
            nobody.alias("vertex_name"),
            F.array().cast("array<int>").alias("subtasks"),
            (subtasks - acknowledged).alias("count"),
            F.array().cast("array<string>").alias("hosts"),
        )
    )
    return F.when(F.size("missing") > 0, json_text(by_vertex)).when(
        F.col("missing").isNull() & (subtasks > acknowledged), json_text(only_count)
    )


def _host_history(hosts: DataFrame) -> DataFrame:
    """Per vertex all its known hosts in the order of time: an array of (ts, host)."""
    history = F.sort_array(F.collect_set(F.struct("ts", "host"))).alias("history")
    return hosts.where(F.col("host").isNotNull()).groupBy("cluster", "job_id", "vertex_id").agg(history)


def _hosts_at_trigger() -> Column:
    before = F.filter("history", lambda known: known.ts <= F.col("trigger_time"))
    return F.when(F.size(before) > 0, F.element_at(before, -1)).otherwise(F.get("history", 0)).getField("host").alias("hosts")


def _subtasks() -> Column:
    """Subtasks whose duration is known, as structs; empty where no arrays were seen."""
    # One array that is missing would make all of them null.
    times = (F.coalesce(name, F.array().cast("array<bigint>")).alias(name) for name in _TIMES)
    zipped = F.transform(F.arrays_zip(*times), lambda subtask, index: F.struct(index.alias("index"), *_with_start_delay(subtask)))
    return F.coalesce(F.filter(zipped, lambda subtask: subtask.end_to_end_ms.isNotNull()), F.array())


def _with_start_delay(subtask: Column) -> list[Column]:
    """Before Flink 1.11 the start delay is not reported and is what the others leave of end-to-end."""
    end_to_end, reported, alignment, sync, async_ = (subtask[name] for name in _TIMES)
    left = F.greatest(end_to_end - sync - async_, F.lit(0))
    return [
        end_to_end.alias("end_to_end_ms"),
        F.coalesce(reported, left).alias("start_delay_ms"),
        alignment.alias("alignment_ms"),
        sync.alias("sync_ms"),
        async_.alias("async_ms"),
        (reported.isNull() & left.isNotNull()).alias("is_derived"),
    ]


def _slowest_of_vertex() -> Column:
    """Ordered by duration; equally slow ones are told apart by index and vertex, whatever the order of rows."""
    ranked = F.transform(
        "done",
        lambda subtask: F.struct(
            subtask.end_to_end_ms,
            (-subtask["index"]).alias("rank"),
            F.col("vertex_id"),
            subtask["index"].alias("subtask"),
            F.get("hosts", subtask["index"]).alias("host"),
            *(subtask[f"{phase}_ms"].alias(f"{phase}_ms") for phase in PHASES),
        ),
    )
    return F.array_max(ranked)


def _missing() -> Column:
    """Which subtasks have no acknowledgement: indexes (capped), their hosts, and how many."""
    absent = F.filter(F.transform("subtask_ack_time", lambda at, index: F.when(at.isNull(), index)), lambda index: index.isNotNull())
    indexes = F.coalesce(absent, F.array().cast("array<int>"))
    kept = F.slice(indexes, 1, INDEXES_KEPT)
    hosts = F.filter(F.transform(indexes, lambda index: F.get("hosts", index)), lambda host: host.isNotNull())
    return F.struct(
        F.coalesce(F.col("subtasks") - F.col("acknowledged"), F.size(indexes)).alias("count"),
        kept.alias("indexes"),
        F.slice(F.sort_array(F.array_distinct(hosts)), 1, HOSTS_KEPT).alias("hosts"),
    )
