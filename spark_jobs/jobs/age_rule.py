"""Say what "delete everything older than N days" would have deleted, and which restores it would
have broken.

Reads the files that an audit kept and writes JSON: a member of ``roots`` for each, with the
checkpoints that would lose most files. Nothing is deleted.
"""

import argparse
import json
from functools import partial
from typing import Any

import fsspec
import pyarrow as pa

from ingest.errors import Refused
from spark_jobs import manifest as manifests
from spark_jobs.arrow_schemas import arrow_schema
from spark_jobs.audit_here import Here
from spark_jobs.audit_tables import AUDIT_TABLES, FILE_TABLES
from spark_jobs.manifest import Manifest
from spark_jobs.paths import absolute_root
from spark_jobs.progress import say
from spark_jobs.storage import age_rule
from spark_jobs.storage.plain import by
from spark_jobs.storage_words import age_rule_name

JOB = "age_rule"
MOST_ROWS_IN_PROCESS = 200_000

_OF_CHECKPOINT = (
    "metadata_path",
    "checkpoint_id",
    "is_savepoint",
    "cluster",
    "job_id",
    "lost_files",
    "lost_bytes",
    "lost_metadata",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--audit-run", required=True, metavar="DIR", help="run directory of a complete audit"
    )
    parser.add_argument(
        "--days",
        required=True,
        type=int,
        metavar="N",
        help="files older than this would be deleted",
    )
    parser.add_argument(
        "--below",
        default="",
        metavar="URI",
        help="only files below this directory, canonical (default: all)",
    )
    parser.add_argument(
        "--out", required=True, metavar="FILE", help="where to write the JSON, path or URI"
    )
    parser.add_argument(
        "--attempt", metavar="TAG", help="name of this attempt (default: of the audit and the days)"
    )


def run(args: argparse.Namespace) -> int:
    if args.days < 0:
        raise Refused(f"--days {args.days}: give 0 or more days.")
    manifest = manifests.read(f"{absolute_root(args.audit_run)}/{manifests.NAME}")
    if manifest.job != "audit":
        raise Refused(
            f"{args.audit_run} is the directory of a {manifest.job} run; name that of an audit."
        )
    attempt = args.attempt or f"{manifest.attempt}-age-{age_rule_name(args.days, args.below)}"
    if _fits_one_process(manifest):
        result = simulated(Here(), manifest, args.days, args.below)
    else:
        from spark_jobs.audit_on_spark import on_spark

        with on_spark(f"weir {JOB} {attempt}", attempt, absolute_root(args.audit_run)) as engine:
            result = simulated(engine, manifest, args.days, args.below)
    with fsspec.open(absolute_root(args.out), "wb") as out:
        out.write(json.dumps(result, ensure_ascii=False, indent=1).encode())
    say(f"wrote {args.out}")
    return 0


def _fits_one_process(audit: Manifest) -> bool:
    return (
        "://" not in absolute_root(audit.run_dir)
        and sum(table.rows for table in audit.tables.values()) <= MOST_ROWS_IN_PROCESS
    )


def simulated(engine: Any, audit: Manifest, days: int, below: str = "") -> dict[str, Any]:
    """Bounded by roots, and ``MOST_CHECKPOINTS`` of each."""
    roots, checkpoints, jobs = (
        _table(audit, name) for name in ("storage_root", "storage_checkpoint", "storage_job")
    )
    parts = {
        "files": engine.read(_files(audit, "storage_file", "storage_live"), _FILE),
        "references": engine.read(_files(audit, "storage_reference"), _REFERENCE),
    }
    known = {"roots": roots, "checkpoints": checkpoints.select(["metadata_path"])}
    totals = engine.run(
        partial(age_rule.deleted, days=days, below=below), parts, age_rule.SCHEMAS, ("path",), known
    )
    sums = {
        name: engine.collected(rows).to_pylist()
        for name, rows in engine.run(
            age_rule.added_up, totals, age_rule.SCHEMAS, age_rule.KEYS
        ).items()
    }
    broken = by(
        age_rule.broken_checkpoints(sums["lost"], checkpoints.to_pylist()), "audit_id", "root"
    )
    name_of = {
        (row["audit_id"], row["cluster"], row["job_id"]): row["job_name"]
        for row in jobs.to_pylist()
    }
    of_roots = []
    for row in sorted(sums["totals"], key=lambda row: (str(row["root"]), str(row["audit_id"]))):
        of_root = broken.get((row["audit_id"], row["root"]), [])
        shown = [
            {name: entry[name] for name in _OF_CHECKPOINT}
            | {"job_name": name_of.get((entry["audit_id"], entry["cluster"], entry["job_id"]))}
            for entry in age_rule.most_broken(of_root)
        ]
        of_roots.append(
            row
            | {
                "broken": len(of_root),
                "jobs": len(age_rule.broken_jobs(of_root)),
                "checkpoints": shown,
            }
        )
    return {"days": days, "below": below, "roots": of_roots}


_FILE = pa.schema(
    [
        arrow_schema(FILE_TABLES["storage_file"]).field(name)
        for name in ("audit_id", "root", "path", "bytes", "modified", "verdict")
    ]
)
_REFERENCE = pa.schema(
    [
        arrow_schema(FILE_TABLES["storage_reference"]).field(name)
        for name in ("audit_id", "metadata_path", "path")
    ]
)


def _table(audit: Manifest, name: str) -> pa.Table:
    return Here().read(_files(audit, name), arrow_schema(AUDIT_TABLES[name]))


def _files(audit: Manifest, *names: str) -> list[str]:
    base = absolute_root(audit.run_dir)
    return [
        f"{base}/{file}"
        for name in names
        if name in audit.tables
        for file in audit.tables[name].files
    ]
