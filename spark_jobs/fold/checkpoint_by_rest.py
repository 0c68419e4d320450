"""What REST reported of a checkpoint, many answers folded into one."""

from collections.abc import Iterable
from typing import Any

from spark_jobs.fold.rows import Row, largest, newest_known, rank

FINAL_STATUS = ("COMPLETED", "FAILED")

REPORTED = (
    "status", "is_savepoint", "savepoint_format", "checkpoint_type", "latest_ack_time", "end_to_end_ms", "state_bytes",
    "checkpointed_bytes", "processed_bytes", "persisted_bytes", "subtasks", "acknowledged", "external_path", "discarded",
    "failure_time", "failure_message",
)  # fmt: skip
FIGURES = ("end_to_end_ms", "state_bytes", "checkpointed_bytes", "processed_bytes", "persisted_bytes", "acknowledged")
"""These grow until the checkpoint ends: of one that has ended, an answer that found it in progress tells none of them."""
NOTHING: dict[str, Any] = {**dict.fromkeys(REPORTED), "as_of": None}


def reported(rows: Iterable[Row]) -> dict[str, Any]:
    """For each column what the latest of these rows of ``checkpoints`` knew of it, and ``as_of``.

    A final answer is later than any that found it in progress, whenever that was; so an answer that came
    late never takes an outcome back.
    """
    seen = list(rows)
    if not seen:
        return NOTHING
    known = newest_known(seen, REPORTED, order)
    return known | {"as_of": largest(*(row["observed_at"] for row in seen))}


def last_figures(rows: Iterable[Row]) -> dict[str, Any]:
    """``FIGURES`` of a checkpoint that has ended, by final answers alone; all None where no answer was final."""
    return newest_known([row for row in rows if is_final(row["status"])], FIGURES, order)


def order(row: Row) -> Any:
    return is_final(row["status"]), rank(row["observed_at"])


def is_final(status: str | None) -> bool:
    return status in FINAL_STATUS
