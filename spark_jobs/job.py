"""Runs a job by its name. A job is a module of ``spark_jobs.jobs`` with a docstring (its help),
``add_arguments(parser)`` and ``run(args)``.
"""

import argparse
import importlib
from collections.abc import Sequence

from ingest.errors import IngestError
from ingest.lake.damage import damaged
from ingest.lake.derived import ALL_TABLES
from ingest.lake.environment import lake_place
from ingest.lake.reader import LakeReader

SHORT_CHARS = 500
JOBS = ("audit", "cycle", "log_events", "replicate", "rollups")


def run_job(words: Sequence[str]) -> int:
    """The exit code: 0 if all was done. Raises IngestError or BadManifest if the job was refused,
    PreviousLost if the previous state is lost.
    """
    job = importlib.import_module(f"spark_jobs.jobs.{words[0]}")
    parser = argparse.ArgumentParser(
        prog=f"python -m spark_jobs {words[0]}",
        description=job.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    job.add_arguments(parser)
    code: int = job.run(parser.parse_args(list(words[1:])))
    return code


def reason_of(words: Sequence[str], error: Exception) -> tuple[str, bool]:
    """The reason, and whether the lake is damaged."""
    damage = _damage_of(_lake_of(words))
    return damage or _in_short(error), bool(damage)


def _in_short(error: Exception) -> str:
    if isinstance(error, ModuleNotFoundError) and str(error.name).partition(".")[0] == "pyspark":
        return "Weir lacks Spark here: pip install 'weir[spark]'"
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0].strip() if lines else 'no message'}"[:SHORT_CHARS]


def _lake_of(words: Sequence[str]) -> str | None:
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--lake")
    lake: str | None = parser.parse_known_args(list(words))[0].lake
    return lake


def _damage_of(root: str | None) -> str:
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
