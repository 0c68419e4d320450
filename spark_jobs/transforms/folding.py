"""What is new of each job brought together with what is known of it, and one pass of plain Python over each."""

from collections.abc import Mapping, Sequence
from functools import partial, reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.diagnosis.window_contents import CHECKPOINTS
from spark_jobs.fold.judging import Settings
from spark_jobs.serving import (
    CHECKPOINT_FACT,
    FINDING_SIGHT,
    JOB_ANNOTATION,
    JOB_CURRENT,
    JOB_JUDGEMENT,
    SIZE_TREND,
    SKIPPED_INPUT,
    ServingTable,
)
from spark_jobs.transforms.contract import serving_rows
from spark_jobs.transforms.fold_batches import FOLDED_SCHEMA, JOB, folded_batches

STATE_SCHEMA = "cluster string, job_id string, state binary"
SIZES = ("checkpoint_id", "trigger_time", "is_savepoint", "outcome", "final", "end_time", "end_to_end_ms", "state_bytes",
         "checkpointed_bytes", "external_path", "as_of")  # fmt: skip
"""What trends need of a fact, and the list of savepoints."""
LEFT_OUT = "its facts and verdicts could not be computed"
_UNREAD = ("cluster", "source", "date")


def folded(jobs: DataFrame, settings: Settings) -> DataFrame:
    """One row for each job of :func:`jobs`; see ``FOLDED_SCHEMA``. Hold it before it is used twice."""
    return jobs.mapInArrow(partial(folded_batches, settings=settings), FOLDED_SCHEMA)


def jobs(news: Mapping[str, DataFrame], since: DataFrame, facts: DataFrame, state: DataFrame, is_partial: bool) -> DataFrame:
    """What is to be folded: one row for each job of which there is news.

    ``news``: part of :class:`spark_jobs.fold.job.JobNews` → rows of it. ``since`` (cluster, job_id, since): the earliest instant that
    is new of each job. ``facts``: what earlier runs told, other jobs' too; ``state``: what they remember. ``is_partial``: rows are of
    the touched checkpoints alone, so that only those are told again.
    """
    parts = [_nested(rows, name) for name, rows in news.items()]
    looked_back = _looked_back(facts, since)
    every = reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), [*parts, looked_back])
    names = [*news, "facts", "sizes"]
    whole = every.groupBy(*JOB).agg(*(F.collect_list(name).alias(name) for name in names))
    return whole.join(state, on=list(JOB), how="left").withColumn("is_partial", F.lit(is_partial))


def tables(folded: DataFrame) -> dict[str, DataFrame]:
    """Serving rows out of a result, by table."""
    done = folded.where(F.col("error").isNull())
    judged = done.where(F.col("judgement").isNotNull())
    sights = judged.select(*JOB, F.explode("judgement.sights").alias("row"))
    judgements = judged.select(*JOB, "judgement.*").withColumn("as_of", F.col("judged_to"))
    return {
        "checkpoint_fact": _rows(done.select(*JOB, F.explode("facts").alias("row")), CHECKPOINT_FACT),
        "job_annotation": _rows(done.select(*JOB, F.explode("annotations").alias("row")), JOB_ANNOTATION),
        "size_trend": _rows(done.where(F.col("trend").isNotNull()).select(*JOB, F.col("trend").alias("row")), SIZE_TREND),
        "job_current": _rows(done.select(*JOB, F.col("current").alias("row")), JOB_CURRENT),
        "finding_sight": _rows(sights, FINDING_SIGHT),
        "job_judgement": serving_rows(_with_instants(judgements, JOB_JUDGEMENT), JOB_JUDGEMENT),
    }


def left_out(folded: DataFrame) -> DataFrame:
    """Jobs that could not be folded, as rows of ``skipped_input``."""
    failed = folded.where(F.col("error").isNotNull())
    observed_at = F.timestamp_millis("observed_at")
    return serving_rows(
        failed.select(
            "cluster",
            observed_at.alias("observed_at"),
            F.concat(F.lit("job "), "job_id").alias("subject"),
            F.lit(LEFT_OUT).alias("reason"),
            F.lit("cycle").alias("source"),
            F.col("error").alias("detail"),
            observed_at.alias("as_of"),
        ),
        SKIPPED_INPUT,
    )


def state_of_jobs(folded: DataFrame, carried: DataFrame) -> DataFrame:
    """What is remembered of each job: as this run leaves it, else as an earlier one did."""
    now = folded.where(F.col("state").isNotNull()).select(*JOB, "state")
    return carried.join(now, on=list(JOB), how="left_anti").unionByName(now)


def _rows(nested: DataFrame, table: ServingTable) -> DataFrame:
    return serving_rows(_with_instants(nested.select(*JOB, "row.*"), table), table)


def _with_instants(rows: DataFrame, table: ServingTable) -> DataFrame:
    return rows.withColumns({column.name: F.timestamp_millis(column.name) for column in table.columns if column.kind == "instant"})


def _nested(rows: DataFrame, name: str) -> DataFrame:
    part = F.struct(*(column for column in rows.columns if column not in _UNREAD)).alias(name)
    return rows.where(F.col("job_id").isNotNull()).select(*JOB, part)


def _looked_back(facts: DataFrame, since: DataFrame) -> DataFrame:
    """Of jobs with news: the facts that judged windows may look back to, whole, and the sizes of all."""
    known = facts.join(since, on=list(JOB), how="inner")
    before = F.col("trigger_time") < F.col("since")
    newest_first = Window.partitionBy(*JOB, before).orderBy(F.desc("trigger_time"), F.desc("checkpoint_id"))
    kept = known.withColumn("kept", ~before | (F.row_number().over(newest_first) <= CHECKPOINTS))
    whole = F.struct(*(name for name in CHECKPOINT_FACT.column_names if name not in JOB))
    return kept.select(*JOB, F.when(F.col("kept"), whole).alias("facts"), F.struct(*SIZES).alias("sizes"))


def earliest(timed: Sequence[tuple[DataFrame, str | Column]]) -> DataFrame:
    """(cluster, job_id, since): the earliest instant of all rows that name a job."""
    every = [frame.select(*JOB, (F.col(at) if isinstance(at, str) else at).alias("at")) for frame, at in timed]
    rows = reduce(DataFrame.unionByName, every).where(F.col("job_id").isNotNull())
    return rows.groupBy(*JOB).agg(F.min("at").alias("since"))
