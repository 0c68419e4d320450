"""Where each attempt of a subtask ran, and of which job it was; joined to the events that name only its id.

:mod:`ingest.flink_logs.task_locations` does the same for one log on the command line. Since a task may run for
months after its deploy line, executions are carried from run to run.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ingest.flink_logs.task_locations import GRAPH_CREATED
from spark_jobs.fold.lost_taskmanagers import COLUMNS as TASKMANAGER_LINE
from spark_jobs.fold.lost_taskmanagers import KINDS_OF_LOSS, NOTICED_WITHIN_S
from spark_jobs.small.executions import CARRIED_DAYS, COLUMNS, LOCATION, NAME, NEWEST_DAYS, OF_PROCESS, RECEIVED, SUBTASK

EXECUTION = ("cluster", "execution_id")


def executions(events: DataFrame, carried: DataFrame) -> DataFrame:
    """What these events and earlier runs (``carried``: an earlier result) reported, one row per attempt."""
    reported = events.where(F.col("execution_id").isNotNull() & (F.col("kind") != GRAPH_CREATED))
    deployed = F.col("kind") == "task_deployed"
    log = F.when(F.col("kind") == RECEIVED, F.col("process")).alias("log")
    now = reported.select(*EXECUTION, "process", *LOCATION, deployed.alias("by_deploy"), "ts", F.lit(False).alias("is_carried"), log)
    before = carried.select(
        *EXECUTION, F.lit(None).cast("string").alias("process"), *LOCATION,
        F.lit(True).alias("by_deploy"), F.col("deployed_at").alias("ts"), F.lit(True).alias("is_carried"), "log",
    )  # fmt: skip
    # A deploy line knows best; among the others what was reported first stays.
    order = F.struct((~F.col("by_deploy")).alias("later"), F.col("ts"), F.col("process"))
    known = (
        now.unionByName(before)
        .groupBy(*EXECUTION)
        .agg(
            *(F.min_by(name, F.when(F.col(name).isNotNull(), order)).alias(name) for name in LOCATION),
            F.min("ts").alias("first_told"),
            F.min(F.when(F.col("by_deploy"), F.col("ts"))).alias("deployed_at"),
            F.min("process").alias("process"),
            F.max("log").alias("log"),
        )
    )
    placed = _with_deploy_lines_without_id(known, events)
    return _newest(_with_job(placed, events, carried)).select(*COLUMNS)


def newly_placed(now: DataFrame, carried: DataFrame) -> DataFrame:
    """Executions whose job, task and host are known ``now`` and were not in an earlier result (``carried``)."""
    known = F.col("job_id").isNotNull() & F.col("task").isNotNull() & F.col("host").isNotNull()
    before = carried.where(known).select(*EXECUTION)
    return now.where(known).join(before, on=list(EXECUTION), how="left_anti").drop("deployed_at", "log")


def locate(events: DataFrame, executions: DataFrame) -> DataFrame:
    """Events with job, vertex, task, subtask, attempt, container and host of their execution filled in where they lack them."""
    where = executions.select(*EXECUTION, *(F.col(name).alias(f"ran_{name}") for name in LOCATION))
    by_name = F.col("execution_id").isNull() & F.col("job_id").isNull() & F.col("attempt").isNotNull()
    joined = events.where(~by_name).join(where, on=list(EXECUTION), how="left")
    filled = {name: F.coalesce(name, f"ran_{name}") for name in LOCATION}
    located = joined.select(*(filled[name].alias(name) if name in filled else F.col(name) for name in events.columns))
    return located.unionByName(_located_by_name(events.where(by_name), executions))


def locate_by_process(events: DataFrame, executions: DataFrame) -> DataFrame:
    """Lines that name no task are of the job whose tasks run in their process, where until then only one came there."""
    came = executions.where("log is not null and job_id is not null and deployed_at is not null")
    came = came.groupBy("cluster", F.col("log").alias("process"), F.col("job_id").alias("came_job")).agg(F.min("deployed_at").alias("at"))
    jobs = came.groupBy("cluster", "process").agg(F.collect_list(F.struct("at", "came_job")).alias("came"))
    joined = events.join(F.broadcast(jobs), on=["cluster", "process"], how="left")
    there = F.filter("came", lambda one: one["at"] <= F.col("ts"))
    job = F.when(F.col("kind").isin(*OF_PROCESS) & (F.size(there) == 1), F.get(there, F.lit(0))["came_job"])
    return joined.select(*(F.coalesce(name, job).alias(name) if name == "job_id" else F.col(name) for name in events.columns))


def of_taskmanagers(events: DataFrame, executions: DataFrame) -> DataFrame:
    """Lines about the end of a TaskManager, one for each job that had tasks there, or had until lately."""
    reported = events.where(F.col("kind").isin(*KINDS_OF_LOSS) & F.col("container").isNotNull()).select("cluster", *TASKMANAGER_LINE)
    next_one = Window.partitionBy(*SUBTASK).orderBy("deployed_at", "execution_id")
    ran = executions.where(F.col("job_id").isNotNull() & F.col("deployed_at").isNotNull()).select(
        "cluster", "job_id", "container", "deployed_at", F.lead("deployed_at").over(next_one).alias("left_at")
    )
    had_left = F.col("left_at") < F.col("ts") - F.make_dt_interval(secs=F.lit(NOTICED_WITHIN_S))
    there = (F.col("deployed_at") <= F.col("ts")) & ~F.coalesce(had_left, F.lit(False))
    joined = reported.join(ran, on=["cluster", "container"], how="inner").where(there)
    return joined.select("cluster", "job_id", *TASKMANAGER_LINE).distinct()


def _located_by_name(events: DataFrame, executions: DataFrame) -> DataFrame:
    """Lines that name task, subtask and attempt without an id mean the one of that name deployed last before them.

    Of two jobs of one name that run on one cluster at once, that may be the other.
    """
    names = ("job_id", "vertex_id", "container", "host")
    ran = executions.where(F.col("job_id").isNotNull() & F.col("deployed_at").isNotNull())
    runs = F.sort_array(F.collect_list(F.struct("deployed_at", *names))).alias("runs")
    joined = events.join(ran.groupBy("cluster", *NAME).agg(runs), on=["cluster", *NAME], how="left")
    before = F.filter("runs", lambda run: run["deployed_at"] <= F.col("ts"))
    ran_last = joined.withColumn("run", F.get(before, F.size(before) - 1))
    return ran_last.select(*(F.coalesce(name, f"run.{name}").alias(name) if name in names else F.col(name) for name in events.columns))


def _with_deploy_lines_without_id(known: DataFrame, events: DataFrame) -> DataFrame:
    """Up to 1.11 a deploy line names task and attempt only: the first one after the attempt was first reported is meant."""
    lines = events.where((F.col("kind") == "task_deployed") & F.col("execution_id").isNull()).select(
        "cluster", "process", "task", "subtask", F.struct("ts", "attempt", "container", "host").alias("line")
    )
    lacking = known.where("host is null and task is not null").select(*EXECUTION, "process", "task", "subtask", "first_told")
    after = F.col("line.ts") >= F.col("first_told")
    found = (
        lacking.join(lines, on=["cluster", "process", "task", "subtask"], how="inner")
        .where(after)
        .groupBy(*EXECUTION)
        .agg(F.min("line").alias("line"))
    )
    return known.join(found, on=list(EXECUTION), how="left").withColumns(
        {
            **{name: F.coalesce(name, f"line.{name}") for name in ("attempt", "container", "host")},
            "deployed_at": F.coalesce("deployed_at", "line.ts", "first_told"),
        }
    )


def _with_job(known: DataFrame, events: DataFrame, carried: DataFrame) -> DataFrame:
    """The job: from a line that names both, else from the execution graph, else where a log tells of one job only."""
    with_job = events.where(F.col("job_id").isNotNull())
    graphs = (
        with_job.where(F.col("execution_id").isNotNull())
        .select("cluster", _graph(), "job_id")
        .unionByName(carried.where("job_id is not null").select("cluster", _graph(), "job_id"))
        .groupBy("cluster", "graph")
        .agg(F.min("job_id").alias("graph_job"))
    )
    alone = (
        with_job.groupBy("cluster", "process")
        .agg(F.min("job_id").alias("only_job"), F.max("job_id").alias("last_job"))
        .where("only_job = last_job")
        .select("cluster", "process", "only_job")
    )
    joined = known.withColumn("graph", _graph()).join(graphs, on=["cluster", "graph"], how="left")
    return joined.join(alone, on=["cluster", "process"], how="left").withColumn("job_id", F.coalesce("job_id", "graph_job", "only_job"))


def _graph() -> Column:
    return F.substring_index("execution_id", "_", 1).alias("graph")


def _newest(rows: DataFrame) -> DataFrame:
    subtask = Window.partitionBy(*SUBTASK).orderBy(F.desc("deployed_at"), "execution_id")
    cluster = Window.partitionBy("cluster")
    age = F.datediff(F.max("deployed_at").over(cluster), "deployed_at")
    ranked = rows.withColumns({"place": F.row_number().over(subtask), "age_days": age})
    return ranked.where((F.col("age_days") <= CARRIED_DAYS) | ((F.col("place") == 1) & (F.col("age_days") <= NEWEST_DAYS)))
