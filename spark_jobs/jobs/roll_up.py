"""Sums up checkpoint facts over hours and days on Spark, for any number of rows."""

from ingest.lake.derived import CHECKPOINT_FACTS
from ingest.lake.reader import LakeReader
from spark_jobs.lake import PinnedLake, are_small
from spark_jobs.manifest import Output
from spark_jobs.session import SMALL_INPUT_OPTIONS, configure, session_of_attempt
from spark_jobs.shipping import ship_code
from spark_jobs.steps.rollups import NEW, ROLLUP, rollup_batches
from spark_jobs.transforms.folding import group_rows
from spark_jobs.transforms.time_spans import DAY_S, spans
from spark_jobs.worker_rows import WorkerRows

TABLE = CHECKPOINT_FACTS.name


def roll_up(
    lake: LakeReader, from_seq: int, to_seq: int, run_dir: str, folder: str, attempt: str
) -> Output:
    with session_of_attempt(f"weir rollups {attempt}", attempt) as session:
        pinned = PinnedLake(session, lake, {TABLE: to_seq})
        new = pinned.new_rows(TABLE, {TABLE: from_seq})
        days = spans(new, "trigger_time", DAY_S)
        if are_small(pinned.files_in(TABLE, days)):
            configure(session, SMALL_INPUT_OPTIONS)
        ship_code(session)
        rows = group_rows({"new": new.select(*NEW), "kept": pinned.rows_in(TABLE, days)})
        return WorkerRows(rows, rollup_batches, ROLLUP).write_below(run_dir, folder)
