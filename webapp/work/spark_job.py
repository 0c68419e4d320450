"""Runs a Spark job in this process; the caller reads its results."""

import json
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.utils.module_loading import import_string

from ingest.redaction.texts import redact
from spark_jobs import previous_run, progress
from spark_jobs.job import reason_of
from webapp.work.hints import Task
from webapp.work.models import PipelineRun
from webapp.work.runs import RunRecord

LINE_CHARS = 2_000
ATTEMPTS_INTERRUPTED = 5
LOGGERS = ("spark_jobs", "ingest")


class SparkFailed(Exception):
    """The Spark job ended without a complete run; the message says why."""


class PreviousLost(SparkFailed):
    """The previous run's state is lost or damaged: the job must start without it."""


LOAD_LIMIT_S = 1800


def spark_task(name: str, queue: str, first_s: int = 0) -> Task:
    """A task that runs one Spark job and loads its result. ``first_s``: time for earlier steps."""
    return Task(name, queue, first_s + settings.WEIR.spark_timeout_s + LOAD_LIMIT_S, grace_s=60)


def run(arguments: Sequence[str], record: RunRecord, name: str) -> None:
    # Storage options contain keys, and arguments are logged, so they are passed by the environment.
    os.environ["WEIR_LAKE_OPTIONS"] = json.dumps(settings.WEIR.lake_options)
    run_job = import_string(settings.SPARK_JOB)
    with _note_warnings(record):
        try:
            code = run_job(arguments)
        except previous_run.PreviousLost as error:
            raise PreviousLost(redact(str(error))) from error
        except SoftTimeLimitExceeded:
            raise SparkFailed(
                f"The Spark job {name} did not end in time and was stopped."
            ) from None
        except (Exception, SystemExit) as error:
            logging.getLogger("spark_jobs").error("%s failed", name, exc_info=error)
            raise SparkFailed(f"The Spark job failed: {_why(arguments, error)}") from error
    if code:
        raise SparkFailed(
            f"The Spark job ended with code {code}: {record.last_line or 'it wrote no line'}"
        )


def run_on_lake(job: str, run_dir: str, record: RunRecord, **options: object) -> str:
    """Run ``cycle`` or ``rollups`` with further ``options``; returns the path of its manifest.
    Raises :class:`SparkFailed`.
    """
    options |= {
        "lake": settings.WEIR.lake_root,
        "run_dir": run_dir,
        "attempt": record.row.attempt,
        "most_rows_without_spark": settings.WEIR.most_rows_without_spark,
    }
    arguments = [
        word
        for name, value in options.items()
        for word in (f"--{name.replace('_', '-')}", str(value))
    ]
    run([job, *arguments, *interrupting(record.row)], record, record.row.attempt)
    return f"{run_dir}/manifest.json"


def interrupting(run: PipelineRun) -> list[str]:
    """Arguments that name the attempts since the last successful one, which a Spark server may
    still run.
    """
    earlier = PipelineRun.objects.filter(key=run.key, pk__lt=run.pk).order_by("-id")
    done = earlier.filter(state=PipelineRun.State.DONE).values_list("id", flat=True).first()
    failed = earlier.filter(pk__gt=done or 0).values_list("attempt", flat=True)
    return [
        argument
        for attempt in failed[:ATTEMPTS_INTERRUPTED]
        for argument in ("--interrupt", attempt)
    ]


def _why(arguments: Sequence[str], error: BaseException) -> str:
    if not isinstance(error, Exception):
        return "its arguments were refused"
    ours = type(error).__module__.startswith(("ingest", "spark_jobs"))
    return redact(str(error) if ours else reason_of(arguments, error)[0])


@contextmanager
def _note_warnings(record: RunRecord) -> Iterator[None]:
    handler = _Notes(record)
    for name in LOGGERS:
        logging.getLogger(name).addHandler(handler)
    try:
        with progress.sent_to(lambda line: record.say(line[:LINE_CHARS])):
            yield
    finally:
        for name in LOGGERS:
            logging.getLogger(name).removeHandler(handler)


class _Notes(logging.Handler):
    def __init__(self, record: RunRecord) -> None:
        super().__init__(logging.WARNING)
        self._record = record

    def emit(self, line: logging.LogRecord) -> None:
        self._record.note(line.getMessage()[:LINE_CHARS])
