from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ingest.messages import join_messages, message
from spark_jobs.fold.rows import Row, iso, json_text, rank
from spark_jobs.fold.snapshots import Types, is_savepoint


@dataclass(frozen=True)
class Mention:
    """``by_log``: the source is a log, not REST."""

    kind: str
    subject: str
    at_ms: int
    by_log: bool
    label: str
    detail: Row | None
    as_of: int

    @cached_property
    def _content(self) -> Any:
        return rank(json_text(self.detail))

    @property
    def words(self) -> Any:
        """A sort key: best words first, vague ones last. After a restart, only the log shows when
        all tasks ran.
        """
        is_vague = self.detail is None or (self.kind == "restore" and self.detail["path"] is None)
        return (
            is_vague,
            self.kind == "restart" and not self.by_log,
            self.at_ms,
            self.by_log,
            self.label,
            self._content,
        )

    @property
    def time_order(self) -> Any:
        return self.at_ms, self.by_log, self.detail is None, self.label, self._content


def by_rest(
    kind: str, subject: str, at_ms: int, label: str, detail: Row | None, row: Row
) -> Mention:
    return Mention(kind, subject, at_ms, False, label, detail, row["observed_at"])


def by_log(kind: str, subject: str, label: str, detail: Row | None, row: Row) -> Mention:
    return Mention(kind, subject, row["ts"], True, label, detail, row["observed_at"])


def least_downtime(began_at: int, running_at: int) -> Row:
    return {
        "began_at": iso(began_at),
        "job_running_at": iso(running_at),
        "downtime_at_least_ms": running_at - began_at,
    }


def restore_words(
    kind: str | None, checkpoint_id: int | None, path: str | None, job_id: str, types: Types
) -> tuple[str, str, Row]:
    """Subject, label and detail of a restore. ``kind``: Flink calls another job's snapshot a
    "checkpoint" if the job claimed it, else a "savepoint".
    """
    number = None if checkpoint_id is None else str(checkpoint_id)
    is_foreign = path is not None and job_id not in path
    claim_mode = (
        message("NO_CLAIM or LEGACY") if kind == "savepoint" else "CLAIM" if is_foreign else None
    )
    was_savepoint = is_savepoint(path, None if kind is None else kind == "savepoint", types)
    kind = {None: None, True: "savepoint", False: "checkpoint"}[was_savepoint]
    words = (message("restored from"), kind or message("checkpoint or savepoint"), number)
    label = join_messages(filter(None, words), " ")
    return (
        number or "",
        label,
        {"from": kind, "checkpoint_id": checkpoint_id, "path": path, "claim_mode": claim_mode},
    )
