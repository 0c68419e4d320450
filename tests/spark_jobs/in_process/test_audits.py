"""An audit in one process says what Spark says: of random worlds and of every recorded tree, row by row."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.in_process.session import in_process_session
from spark_jobs.manifest import Manifest
from spark_jobs.storage.judging import judge
from tests.spark_jobs.storage.audits import Auditor
from tests.spark_jobs.storage.packed import inputs_of
from tests.spark_jobs.storage.recorded_jobs import recorded_jobs
from tests.spark_jobs.storage.worlds import World, world
from tests.storage_trees import FINAL, FINAL_RUNNING, RECORDED, lay_out

PACKED, WRITTEN = 1_000, 60
FIRST_SEED = 7_000_000

Rows = dict[str, list[str]]


def everything_judged(session: SparkSession, worlds: list[World], scratch: Path, *, written: bool) -> Rows:
    def keep(name: str, frame: DataFrame) -> DataFrame:
        frame.write.parquet(str(scratch / name))
        return session.read.schema(frame.schema).parquet(str(scratch / name))

    scratch.mkdir()
    judged = judge(inputs_of(session, worlds, scratch, written=written), keep)
    frames = judged.tables | {"files": judged.files, "references": judged.references, "absent": judged.absent, "pending": judged.pending}
    for name, frame in frames.items():
        keep(f"said-{name}", frame.drop("held_no", "path_hash"))
    return {name: sorted_rows(*(scratch / f"said-{name}").glob("*.parquet")) for name in frames}


def sorted_rows(*files: Path) -> list[str]:
    rows = (row for file in files for row in pq.read_table(file).to_pylist())
    return sorted(json.dumps(row, default=str, sort_keys=True) for row in rows)


@pytest.mark.parametrize(("worlds", "written"), [(PACKED, False), (WRITTEN, True)])
def test_random_worlds_are_judged_as_by_spark(spark: SparkSession, tmp_path: Path, worlds: int, written: bool) -> None:
    made = [world(FIRST_SEED + number) for number in range(worlds)]
    by_spark = everything_judged(spark, made, tmp_path / "spark", written=written)
    with in_process_session() as session:
        here = everything_judged(session, made, tmp_path / "here", written=written)
    # Where what was written lies is told in the details of doubts.
    elsewhere = {name: [row.replace(str(tmp_path / "here"), str(tmp_path / "spark")) for row in rows] for name, rows in here.items()}
    assert {name: sorted(rows) for name, rows in elsewhere.items()} == by_spark


@contextmanager
def an_auditor(where: str, spark: SparkSession, folder: Path) -> Iterator[Auditor]:
    folder.mkdir()
    if where == "spark":
        yield Auditor(spark, folder)
        return
    with in_process_session() as session:
        yield Auditor(session, folder, in_process=True)


def written_by(run: Manifest) -> dict[str, Any]:
    tables: Mapping[str, Any] = {name: output.files for name, output in run.tables.items()} | run.state
    rows = {name: sorted_rows(*(Path(run.run_dir, file) for file in files)) for name, files in tables.items()}
    counts = {name: output.rows for name, output in run.tables.items()}
    columns = {
        name: [(field.name, str(field.type)) for field in pq.read_schema(Path(run.run_dir, files[0]))]
        for name, files in tables.items()
        if files
    }
    in_order = [row["path"] for file in run.tables["storage_file"].files for row in pq.read_table(Path(run.run_dir, file)).to_pylist()]
    return {"rows": rows, "counts": counts, "columns": columns, "order of files": in_order}


def audited_thrice(where: str, spark: SparkSession, folder: Path, trees: Path) -> list[dict[str, Any]]:
    """Of all recorded trees: while jobs ran, at their end, and four days later; each carries on from the one before."""
    runs = []
    with an_auditor(where, spark, folder) as auditor:
        for days, at in ((0, FINAL_RUNNING), (1, FINAL), (5, FINAL)):
            asked = []
            for name in RECORDED:
                tree = lay_out(name, trees / at / name, at=at)
                root = {"uri": tree.root.uri, "read_at": tree.root.read_at, "clusters": ["lab"], "attested": True}
                as_of = lay_out(name, trees / FINAL / name).newest + timedelta(days=days, minutes=1)
                asked.append({"audit_id": name, "as_of": as_of, "age_guard_h": 72, "roots": [root], "jobs": recorded_jobs(tree)})
            runs.append(written_by(auditor.audit(asked).manifest))
    return runs


def test_recorded_trees_are_audited_as_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    by_spark = audited_thrice("spark", spark, tmp_path / "spark", tmp_path / "trees")
    here = audited_thrice("here", spark, tmp_path / "here", tmp_path / "trees")
    assert here == by_spark
    verdicts = {json.loads(row)["verdict"] for row in here[-1]["rows"]["storage_verdict"]}
    assert verdicts >= {"live", "retained_waste", "orphan"}
