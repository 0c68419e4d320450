"""Runs a Spark job in this process and stores its output; the caller reads its results. Celery
limits its time and memory, as for any task.
"""

import json
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from logging.handlers import RotatingFileHandler
from pathlib import Path

from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.utils.module_loading import import_string

from ingest import log_lines
from ingest.redaction.texts import redact
from spark_jobs import previous_run, progress
from spark_jobs.job import reason_of
from webapp.work.hints import Task
from webapp.work.models import PipelineRun
from webapp.work.runs import RunRecord

LOGS_KEPT = 50
LOG_BYTES = 16 * 1024 * 1024
LINE_CHARS = 2_000
ATTEMPTS_INTERRUPTED = 5
LOGGERS = ("spark_jobs", "ingest")


class SparkFailed(Exception):
    """The Spark job ended without a complete run; the message says why."""


class PreviousLost(SparkFailed):
    """The previous run's state is lost or damaged: the job must start without it."""


LOAD_LIMIT_S = 1800
"""For loading what a job left."""


def spark_task(name: str, queue: str, first_s: int = 0) -> Task:
    """A task that runs one Spark job and loads its result; ``first_s``: time for the steps before."""
    return Task(name, queue, first_s + settings.WEIR.spark_timeout_s + LOAD_LIMIT_S, grace_s=60)


def run(arguments: Sequence[str], record: RunRecord, name: str) -> None:
    """Run the job to its end; its log carries ``name``. Raises :class:`SparkFailed`."""
    # Storage options contain keys, and arguments are logged, so they are passed by the environment.
    os.environ["WEIR_LAKE_OPTIONS"] = json.dumps(settings.WEIR.lake_options)
    run_job = import_string(settings.SPARK_JOB)
    with _keep_output(name, record) as log:
        try:
            code = run_job(arguments)
        except previous_run.PreviousLost as error:
            raise PreviousLost(redact(str(error))) from error
        except SoftTimeLimitExceeded:
            raise SparkFailed(
                f"The Spark job {name} did not end in time and was stopped (log: {log})."
            ) from None
        except (Exception, SystemExit) as error:
            logging.getLogger("spark_jobs").error("%s failed", name, exc_info=error)
            raise SparkFailed(
                f"The Spark job failed: {_why(arguments, error)} (log: {log})"
            ) from error
    if code:
        raise SparkFailed(
            f"The Spark job ended with code {code}: {record.last_line or 'it wrote no line'} (log: "
            f"{log})"
        )


def interrupting(run: PipelineRun) -> list[str]:
    """Arguments naming failed attempts since the last good one, which a Spark server may still be
    running.
    """
    same = PipelineRun.objects.filter(key=run.key, pk__lt=run.pk).order_by("-id")
    done = same.filter(state=PipelineRun.State.DONE).values_list("id", flat=True).first()
    bad = same.filter(pk__gt=done or 0).values_list("attempt", flat=True)[:ATTEMPTS_INTERRUPTED]
    return [argument for attempt in bad for argument in ("--interrupt", attempt)]


def _why(arguments: Sequence[str], error: BaseException) -> str:
    if not isinstance(error, Exception):
        return "its arguments were refused"
    ours = type(error).__module__.startswith(("ingest", "spark_jobs"))
    return redact(str(error) if ours else reason_of(arguments, error)[0])


@contextmanager
def _keep_output(name: str, record: RunRecord) -> Iterator[Path]:
    """The job's output and log go to ``record`` and to a log file, whose path is yielded."""
    path = _log_file(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    file = RotatingFileHandler(
        path, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8", errors="replace", delay=True
    )
    file.setFormatter(log_lines.formatter(settings.WEIR.log_format))
    progress_log = logging.getLogger("spark_jobs.progress")
    noted = _Noted(record)
    handlers: list[logging.Handler] = [file, noted]

    def say(line: str) -> None:
        record.say(line[:LINE_CHARS])
        file.handle(
            progress_log.makeRecord(progress_log.name, logging.INFO, "", 0, "%s", (line,), None)
        )

    for logger in map(logging.getLogger, LOGGERS):
        for handler in handlers:
            logger.addHandler(handler)
    try:
        with progress.sent_to(say):
            yield path
    finally:
        for logger in map(logging.getLogger, LOGGERS):
            for handler in handlers:
                logger.removeHandler(handler)
        file.close()


class _Noted(logging.Handler):
    def __init__(self, record: RunRecord) -> None:
        super().__init__(logging.WARNING)
        self._record = record

    def emit(self, line: logging.LogRecord) -> None:
        self._record.note(line.getMessage()[:LINE_CHARS])


def _log_file(name: str) -> Path:
    folder: Path = settings.WEIR.home / "logs" / "runs"
    if folder.is_dir():
        for old in sorted(folder.glob("*.log*"))[:-LOGS_KEPT]:
            old.unlink(missing_ok=True)
    return folder / f"{name}.log"
