"""``python -m spark_jobs JOB``: turn what the lake holds into serving tables.

Exit codes: 0 done, 1 failed, 2 refused before it started, 3 the state of the previous run is lost
or damaged, 143 stopped.
"""

import os
import signal
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from ingest import log_lines
from ingest.errors import IngestError
from ingest.privacy import keep_private
from spark_jobs.job import JOBS, reason_of, run_job
from spark_jobs.manifest import BadManifest
from spark_jobs.previous_run import PreviousLost

FAILED, REFUSED, LOST, TERMINATED = 1, 2, 3, 143


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] not in JOBS:
        print(
            f"usage: python -m spark_jobs JOB [options]\n\n{__doc__}\n\njobs: {', '.join(JOBS)}; "
            "each has its own --help."
        )
        return 0 if words[:1] in (["-h"], ["--help"]) else REFUSED
    keep_private(os.environ)
    log_lines.configure(os.environ)
    try:
        with _exits_on_sigterm():
            return run_job(words)
    except Exception as error:
        reason, code = _reason_and_code(words, error)
        if code == FAILED:
            # People see the last line of the output. A JVM trace ends with a frame deep in Spark,
            # so the reason follows it.
            traceback.print_exception(error)
        print(f"spark_jobs {words[0]}: {reason}", file=sys.stderr)
        return code


def _reason_and_code(words: Sequence[str], error: Exception) -> tuple[str, int]:
    if isinstance(error, PreviousLost):
        return str(error), LOST
    if isinstance(error, IngestError | BadManifest):
        return str(error), REFUSED
    reason, is_damage = reason_of(words, error)
    return reason, REFUSED if is_damage else FAILED


@contextmanager
def _exits_on_sigterm() -> Iterator[None]:
    """SIGTERM raises an exception, so that context managers exit in order."""

    def exit_(_signal: int, _frame: FrameType | None) -> None:
        sys.exit(TERMINATED)

    previous_handler = signal.signal(signal.SIGTERM, exit_)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous_handler)


if __name__ == "__main__":
    sys.exit(main())
