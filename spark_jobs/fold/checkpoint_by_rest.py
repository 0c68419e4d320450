from dataclasses import fields
from typing import Any

from ingest.records import Checkpoint
from spark_jobs.fold.rows import Row, Rows, largest, newest_known, rank

FINAL_STATUS = ("COMPLETED", "FAILED")

_KEYS = ("job_id", "checkpoint_id", "trigger_time", "flink_version")
REPORTED = tuple(field.name for field in fields(Checkpoint) if field.name not in _KEYS)
FIGURES = (
    "end_to_end_ms",
    "state_bytes",
    "checkpointed_bytes",
    "processed_bytes",
    "persisted_bytes",
    "acknowledged",
)
"""Columns that grow until the checkpoint ends: after that, only final answers are right."""
NOTHING: Row = {**dict.fromkeys(REPORTED), "as_of": None}


def reported(rows: Rows) -> Row:
    """The latest known value of each column; a final answer counts as the latest."""
    answers = list(rows)
    if not answers:
        return NOTHING
    return newest_known(answers, REPORTED, order) | {
        "as_of": largest(*(row["observed_at"] for row in answers))
    }


def last_figures(rows: Rows) -> Row:
    return newest_known([row for row in rows if is_final(row["status"])], FIGURES, order)


def order(row: Row) -> Any:
    return is_final(row["status"]), rank(row["observed_at"])


def is_final(status: str | None) -> bool:
    return status in FINAL_STATUS
