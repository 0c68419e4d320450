"""Hours and days summed up with Spark, whatever their number."""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from ingest.lake.derived import CHECKPOINT_FACTS
from ingest.lake.reader import LakeReader
from spark_jobs.lake import PinnedLake, are_small
from spark_jobs.run_dir import RunDir
from spark_jobs.serving import CHECKPOINT_ROLLUP
from spark_jobs.session import SMALL_INPUT_OPTIONS, configure, session_of_attempt
from spark_jobs.spans import Span
from spark_jobs.transforms.rollups import PERIOD, by_period, newest, summed
from spark_jobs.transforms.time_spans import DAY_S, floor_to, spans

TABLE = CHECKPOINT_FACTS.name
_DAY = ("cluster", "job_id", "day")


def roll_up(lake: LakeReader, from_seq: int, to_seq: int, uri: str, attempt: str) -> RunDir:
    run_dir = RunDir(uri)
    with session_of_attempt(f"weir rollups {attempt}", attempt) as session:
        pinned = PinnedLake(session, lake, {TABLE: to_seq})
        new = pinned.new_rows(TABLE, {TABLE: from_seq})
        days = spans(new, "trigger_time", DAY_S)
        if _is_small(pinned, days):
            configure(session, SMALL_INPUT_OPTIONS)
        run_dir.write_table(CHECKPOINT_ROLLUP.name, rolled_up(new, pinned.rows_in(TABLE, days)))
        return run_dir


def rolled_up(new: DataFrame, of_days: DataFrame) -> DataFrame:
    """New kept facts, and all that there are of the days that they touch → the hours and days that changed."""
    day = floor_to("trigger_time", DAY_S).alias("day")
    touched = new.select("cluster", "job_id", day).distinct()
    kept = of_days.select("*", day).join(touched, on=list(_DAY), how="left_semi").drop("day")
    return summed(newest(kept), by_period(new).select(*PERIOD).distinct())


def _is_small(pinned: PinnedLake, days: Sequence[Span]) -> bool:
    files = pinned.lake.files(TABLE, version=pinned.versions[TABLE], from_time=days[0][0], to_time=days[-1][1]) if days else []
    return are_small(files)
