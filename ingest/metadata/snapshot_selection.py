"""Selects ``_metadata`` that show what a restore or a savepoint uploads: the restored snapshot and
the next completed checkpoint; the last checkpoint before a savepoint and the next.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any

from ingest.records import Checkpoint, Job, Observed

FORGOTTEN_AFTER_S = 86_400
OLD_RESTORE_MS = 3_600_000
"""After an older restore, the next checkpoint is probably deleted."""


@dataclass(slots=True)
class _JobHistory:
    """``…_ms`` are epoch ms, 0 for none. ``awaited_since_ms``: a checkpoint triggered later than
    this is awaited.
    """

    last_path: str = ""
    last_ms: int = 0
    awaited_since_ms: int = 0
    restored_ms: int = 0
    savepoint_ms: int = 0
    seen_s: float = 0


class SnapshotSelection:
    def __init__(self, remembered: Mapping[str, Any] | None = None) -> None:
        names = {field.name for field in fields(_JobHistory)}
        self._jobs = {
            job_id: _JobHistory(**{name: value for name, value in history.items() if name in names})
            for job_id, history in (remembered or {}).items()
            if isinstance(history, dict)
        }

    def select(self, observed: Iterable[Observed]) -> list[str]:
        """Paths of snapshots to read now, as Flink spells them. ``observed``: all of a cycle."""
        paths: list[str] = []
        checkpoints: list[tuple[Checkpoint, datetime]] = []
        for reading in observed:
            for record in reading.records:
                if isinstance(record, Job):
                    paths += self._select_for_job(record, reading.observed_at)
                elif isinstance(record, Checkpoint):
                    checkpoints.append((record, reading.observed_at))
        checkpoints.sort(key=lambda pair: (pair[0].trigger_time, pair[0].checkpoint_id))
        for checkpoint, at in checkpoints:
            paths += self._select_for_checkpoint(checkpoint, at)
        return list(dict.fromkeys(paths))

    def remembered(self, at: datetime) -> dict[str, Any]:
        since = at.timestamp() - FORGOTTEN_AFTER_S
        return {
            job_id: asdict(history)
            for job_id, history in self._jobs.items()
            if history.seen_s >= since
        }

    def _history(self, job_id: str, at: datetime) -> _JobHistory:
        history = self._jobs.setdefault(job_id, _JobHistory())
        history.seen_s = max(history.seen_s, at.timestamp())
        return history

    def _select_for_job(self, job: Job, at: datetime) -> list[str]:
        history, restored_ms = self._history(job.job_id, at), _ms(job.restored_at)
        if restored_ms <= history.restored_ms or not job.restored_path:
            return []
        history.restored_ms = restored_ms
        # A job that recovers from its own checkpoint owns the files and uploads nothing again.
        if job.job_id in job.restored_path or restored_ms < _ms(at) - OLD_RESTORE_MS:
            return []
        history.awaited_since_ms = max(history.awaited_since_ms, restored_ms)
        return [job.restored_path]

    def _select_for_checkpoint(self, checkpoint: Checkpoint, at: datetime) -> list[str]:
        history, trigger_ms = self._history(checkpoint.job_id, at), _ms(checkpoint.trigger_time)
        if checkpoint.is_savepoint:
            if trigger_ms <= history.savepoint_ms or checkpoint.status == "FAILED":
                return []
            history.savepoint_ms = history.awaited_since_ms = max(
                history.awaited_since_ms, trigger_ms
            )
            return [history.last_path] if history.last_path else []
        if (
            checkpoint.status != "COMPLETED"
            or not checkpoint.external_path
            or trigger_ms <= history.last_ms
        ):
            return []
        history.last_path, history.last_ms = checkpoint.external_path, trigger_ms
        if not history.awaited_since_ms:
            return []
        # A checkpoint that was triggered before the savepoint is not the awaited one.
        if trigger_ms > history.awaited_since_ms:
            history.awaited_since_ms = 0
        return [checkpoint.external_path]


def _ms(at: datetime | None) -> int:
    return 0 if at is None else round(at.timestamp() * 1000)
