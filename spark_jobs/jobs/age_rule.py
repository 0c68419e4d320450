"""Say what "delete everything older than N days" would have deleted, and which restores it would have broken.

Reads the files that an audit kept and writes JSON: a member of ``roots`` for each, with the checkpoints that would lose
most files. Nothing is deleted.
"""

import argparse
import json
from typing import Any

import fsspec
from pyspark.sql import DataFrame, SparkSession

from ingest.errors import Refused
from spark_jobs import manifest as manifests
from spark_jobs.audit_tables import AUDIT_TABLES, FILE_TABLES
from spark_jobs.in_process.session import in_process_session
from spark_jobs.lake import SMALL_ROWS
from spark_jobs.manifest import Manifest
from spark_jobs.paths import absolute_root, hadoop_path, without_globs
from spark_jobs.progress import say
from spark_jobs.schemas import serving_schema
from spark_jobs.session import SMALL_INPUT_OPTIONS, configure, session_of_attempt
from spark_jobs.storage import age_rule
from spark_jobs.storage_words import age_rule_name

JOB = "age_rule"
ROWS_A_TASK = 200_000
MOST_ROWS_IN_PROCESS = 50_000

_OF_CHECKPOINT = ("metadata_path", "checkpoint_id", "is_savepoint", "cluster", "job_id", "lost_files", "lost_bytes", "lost_metadata")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--audit-run", required=True, metavar="DIR", help="run directory of a complete audit")
    parser.add_argument("--days", required=True, type=int, metavar="N", help="files older than this would be deleted")
    parser.add_argument("--below", default="", metavar="URI", help="only files below this directory, canonical (default: all)")
    parser.add_argument("--out", required=True, metavar="FILE", help="where to write the JSON, path or URI")
    parser.add_argument("--attempt", metavar="TAG", help="name of this attempt (default: of the audit and the days)")


def run(args: argparse.Namespace) -> int:
    if args.days < 0:
        raise Refused(f"--days {args.days}: give 0 or more days.")
    found = manifests.read(f"{absolute_root(args.audit_run)}/{manifests.NAME}")
    if found.job != "audit":
        raise Refused(f"{args.audit_run} is the directory of a {found.job} run; name that of an audit.")
    attempt = args.attempt or f"{found.attempt}-age-{age_rule_name(args.days, args.below)}"
    here = _fits_one_process(found)
    with in_process_session() if here else session_of_attempt(f"weir {JOB} {attempt}", attempt) as session:
        result = simulated(session, found, args.days, args.below, in_process=here)
    with fsspec.open(absolute_root(args.out), "wb") as out:
        out.write(json.dumps(result, ensure_ascii=False, indent=1).encode())
    say(f"wrote {args.out}")
    return 0


def _fits_one_process(audit: Manifest) -> bool:
    """Few rows on this machine: to start Spark and to plan the frames would take a hundred times as long as to sum them up."""
    return "://" not in absolute_root(audit.run_dir) and sum(table.rows for table in audit.tables.values()) <= MOST_ROWS_IN_PROCESS


def simulated(session: SparkSession, audit: Manifest, days: int, below: str = "", *, in_process: bool = False) -> dict[str, Any]:
    """Bounded by roots, and ``MOST_CHECKPOINTS`` of each."""
    rows = sum(audit.tables[name].rows for name in FILE_TABLES if name in audit.tables)
    configure(session, {"spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.shuffle.partitions": str(rows // ROWS_A_TASK + 4)})
    if rows <= SMALL_ROWS:
        configure(session, SMALL_INPUT_OPTIONS)
    roots = _table(session, audit, "storage_root")
    listed = _table(session, audit, "storage_file").unionByName(_table(session, audit, "storage_live"))
    files = age_rule.deleted_files(listed, roots, days, below)
    broken = age_rule.broken_checkpoints(files, _table(session, audit, "storage_reference"), _table(session, audit, "storage_checkpoint"))
    broken = broken if in_process else broken.localCheckpoint()
    name_of = {
        (row["cluster"], row["job_id"]): row["job_name"]
        for row in _rows(age_rule.most_broken(broken).join(_job_names(session, audit), ["audit_id", "cluster", "job_id"]))
    }
    of_roots = {row["root"]: row | {"broken": 0, "jobs": 0, "checkpoints": []} for row in _rows(age_rule.root_totals(files))}
    for row in _rows(age_rule.broken_totals(broken)):
        of_roots[row["root"]] |= {"broken": row["broken"], "jobs": row["jobs"]}
    for row in _rows(age_rule.most_broken(broken).orderBy("root", "place")):
        checkpoint = {name: row[name] for name in _OF_CHECKPOINT} | {"job_name": name_of.get((row["cluster"], row["job_id"]))}
        of_roots[row["root"]]["checkpoints"].append(checkpoint)
    return {"days": days, "below": below, "roots": [of_roots[root] for root in sorted(of_roots)]}


def _job_names(session: SparkSession, audit: Manifest) -> DataFrame:
    return _table(session, audit, "storage_job").select("audit_id", "cluster", "job_id", "job_name").distinct()


def _table(session: SparkSession, audit: Manifest, name: str) -> DataFrame:
    declared = (AUDIT_TABLES | FILE_TABLES)[name]
    files = audit.tables[name].files
    if not files:
        return session.createDataFrame([], serving_schema(declared))
    base = hadoop_path(absolute_root(audit.run_dir))
    return session.read.schema(serving_schema(declared)).parquet(*(without_globs(f"{base}/{file}") for file in files))


def _rows(frame: DataFrame) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = frame.toArrow().to_pylist()
    return rows
