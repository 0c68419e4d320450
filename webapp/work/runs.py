import logging
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils import timezone

from ingest import log_lines
from ingest.redaction.texts import redact
from webapp.work.lease import Lease, LeaseLost, recheck_connection
from webapp.work.models import PipelineRun
from webapp.work.texts import tail

LOG_TAIL_BYTES = 64 * 1024

logger = logging.getLogger(__name__)


def new_attempt(kind: str, at: datetime) -> str:
    """A tag that sorts by time and is never used twice."""
    return f"{kind}-{at:%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"


@dataclass
class RunRecord:
    """What a running attempt reports about itself; saved in ``row`` at its end."""

    row: PipelineRun
    echo: Callable[[str], None]
    counts: dict[str, Any] = field(default_factory=dict)
    _lines: list[str] = field(default_factory=list)

    def say(self, line: str) -> None:
        self.note(line)
        self.echo(line)

    def note(self, line: str) -> None:
        """Add a line to the log, without showing it to the user of a command."""
        self._lines.append(line)
        if len(self._lines) > 4_000:
            del self._lines[:2_000]

    @property
    def last_line(self) -> str:
        return next(
            (redact(line.strip()[:500]) for line in reversed(self._lines) if line.strip()), ""
        )

    @property
    def log_tail(self) -> str:
        return tail(redact("\n".join(self._lines)), LOG_TAIL_BYTES)


@contextmanager
def record_run(
    lease: Lease, kind: str, echo: Callable[[str], None] | None = None
) -> Iterator[RunRecord]:
    """Record the body as a run of the leased work, also if it raises."""
    now = timezone.now()
    with lease.writing():
        abandon(lease.key, now)
        attempt = new_attempt(kind, now)
        row = PipelineRun.objects.create(kind=kind, key=lease.key, attempt=attempt, started_at=now)
    record = RunRecord(row, echo or logger.info)
    with log_lines.run_context(attempt):
        try:
            yield record
        except LeaseLost as error:
            _finish(record, PipelineRun.State.ABANDONED, describe(error))
            raise
        except BaseException as error:
            _finish(record, PipelineRun.State.FAILED, describe(error))
            raise
        _finish(record, PipelineRun.State.DONE, None)


def abandon(key: str, now: datetime) -> int:
    """Close open runs of ``key``. Only the holder of the lease may call it."""
    running = PipelineRun.objects.filter(key=key, state=PipelineRun.State.RUNNING)
    return running.update(
        state=PipelineRun.State.ABANDONED,
        finished_at=now,
        error="Its process ended without a word.",
    )


def describe(error: BaseException) -> str:
    """The error in words, without secrets. Weir's own errors are already sentences."""
    text = redact(str(error)) or type(error).__name__
    return (
        text
        if type(error).__module__.startswith(("webapp", "ingest", "spark_jobs"))
        else f"{type(error).__name__}: {text}"
    )


def _finish(record: RunRecord, state: PipelineRun.State, error: str | None) -> None:
    recheck_connection()
    now = timezone.now()
    # Only an attempt that is still seen as running may close its row.
    PipelineRun.objects.filter(pk=record.row.pk, state=PipelineRun.State.RUNNING).update(
        state=state,
        finished_at=now,
        duration_ms=int((now - record.row.started_at).total_seconds() * 1000),
        counts=record.counts,
        log_tail=record.log_tail,
        error=error,
    )
