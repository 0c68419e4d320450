"""``python -m spark_jobs JOB``: turn what the lake holds into serving tables.

Each job is a module of ``spark_jobs.jobs`` with a docstring (its help), ``add_arguments(parser)`` and
``run(args) -> int``. Exit codes: 0 done, 1 failed, 2 refused before anything was started, 3 what the
run should carry on from is lost or damaged, 143 stopped.
"""

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Sequence

from ingest import log_lines
from ingest.errors import IngestError
from ingest.lake.damage import damaged
from ingest.lake.derived import ALL_TABLES
from ingest.lake.environment import lake_place
from ingest.lake.reader import LakeReader
from ingest.privacy import keep_private
from spark_jobs import previous_run
from spark_jobs.attempts import exits_on_sigterm
from spark_jobs.manifest import BadManifest
from spark_jobs.previous_run import PreviousLost

SHORT_CHARS = 500
JOBS = ("age_rule", "audit", "cycle", "log_events", "replicate", "rollups", "windows")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one job; what a user can mend is one sentence on stderr, without a traceback."""
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] not in JOBS:
        print(f"usage: python -m spark_jobs JOB [options]\n\n{__doc__}\n\njobs: {', '.join(JOBS)}; each has its own --help.")
        return 0 if words[:1] in (["-h"], ["--help"]) else 2
    job = importlib.import_module(f"spark_jobs.jobs.{words[0]}")
    parser = argparse.ArgumentParser(
        prog=f"python -m spark_jobs {words[0]}", description=job.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    job.add_arguments(parser)
    args = parser.parse_args(words[1:])
    try:
        keep_private(os.environ)
        log_lines.configure(os.environ)
        with exits_on_sigterm():
            code: int = job.run(args)
        return code
    except PreviousLost as error:
        print(f"spark_jobs {words[0]}: {error}", file=sys.stderr)
        return previous_run.LOST
    except (IngestError, BadManifest) as error:
        print(f"spark_jobs {words[0]}: {error}", file=sys.stderr)
        return 2
    except Exception as error:
        damage = _damage_of(getattr(args, "lake", None))
        if not damage:
            # The last line is what people see: of a trace of the JVM it would be some frame deep in Spark.
            traceback.print_exception(error)
        print(f"spark_jobs {words[0]}: {damage or _in_short(error)}", file=sys.stderr)
        return 2 if damage else 1


def _in_short(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0].strip() if lines else 'no message'}"[:SHORT_CHARS]


def _damage_of(root: str | None) -> str:
    """Spark says of a damaged file what its reader was about to do; the lake itself knows whose file it is."""
    if not root:
        return ""
    try:
        lake = LakeReader(*lake_place(root))
        for name, table in ALL_TABLES.items():
            if why := lake.broken_file(name):
                return str(damaged(table, f"{lake.root}/{name}", why))
    except IngestError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    sys.exit(main())
