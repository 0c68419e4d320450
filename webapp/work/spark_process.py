"""Running a Spark job in a process of its own: its output kept, its time limited; what it left is for the caller to read."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings

from ingest import log_lines
from ingest.redaction.texts import redact
from spark_jobs import previous_run
from webapp.work import forked_spark, subprocesses
from webapp.work.hints import Task
from webapp.work.models import PipelineRun
from webapp.work.runs import RunRecord

LOGS_KEPT = 50
ATTEMPTS_INTERRUPTED = 5


class SparkFailed(Exception):
    """The Spark job ended without a complete run; the message says what the log's end says."""


class PreviousLost(SparkFailed):
    """What it should have carried on from is lost or damaged: it has to be started without."""


LOAD_LIMIT_S = 1800
"""For loading what a job left."""


def spark_task(name: str, queue: str, first_s: int = 0) -> Task:
    """A task that runs one Spark job and loads its result; ``first_s``: for what it does before. It may end processes of its own."""
    return Task(name, queue, first_s + settings.WEIR.spark_timeout_s + LOAD_LIMIT_S, grace_s=60)


def run(arguments: Sequence[str], record: RunRecord, name: str) -> None:
    """Run ``python -m spark_jobs ARGUMENTS`` to its end; its log carries ``name``. Raises :class:`SparkFailed`."""
    # Storage options hold keys, and arguments can be seen by everybody on the machine: they go by the environment.
    environment = {**os.environ, **log_lines.environment(), "WEIR_LAKE_OPTIONS": json.dumps(settings.WEIR.lake_options)}
    log = _log_file(name)
    # Standard output is read beside standard error: the last line of both need not be the reason, which a job prefixes with its name.
    reason = ""

    def note(line: str) -> None:
        nonlocal reason
        if line.startswith(f"spark_jobs {arguments[0]}: "):
            reason = redact(line.strip()[:500])
        record.note(line)

    try:
        code = forked_spark.run(settings.SPARK_MODULE, arguments, environment, log, settings.WEIR.spark_timeout_s, record.say, note)
    except subprocesses.TimedOut as error:
        raise SparkFailed(f"The Spark job {name} was stopped: {error}") from None
    reason = reason or record.last_line
    if code == previous_run.LOST:
        raise PreviousLost(reason.partition(": ")[2] or "The run before is lost.")
    if code:
        raise SparkFailed(f"The Spark job ended with exit code {code}: {reason or 'it printed nothing'} (log: {log})")


def interrupting(run: PipelineRun) -> list[str]:
    """Arguments for attempts at the same work that ended badly since the last good one: a Spark server may still be at them."""
    same = PipelineRun.objects.filter(key=run.key, pk__lt=run.pk).order_by("-id")
    done = same.filter(state=PipelineRun.State.DONE).values_list("id", flat=True).first()
    bad = same.filter(pk__gt=done or 0).values_list("attempt", flat=True)[:ATTEMPTS_INTERRUPTED]
    return [argument for attempt in bad for argument in ("--interrupt", attempt)]


def _log_file(name: str) -> Path:
    folder: Path = settings.WEIR.home / "logs" / "runs"
    if folder.is_dir():
        for old in sorted(folder.glob("*.log"))[:-LOGS_KEPT]:
            old.unlink(missing_ok=True)
    return folder / f"{name}.log"
