"""An audit of too many files for one process is left to Spark Connect, and leaves what one process
would.
"""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from spark_jobs import audit_size
from spark_jobs import manifest as manifests
from tests.spark_jobs.storage.audits import Auditor
from tests.spark_jobs.storage.recorded_jobs import recorded_jobs
from tests.spark_jobs.storage.test_recorded import written_by
from tests.spark_processes import run_job
from tests.storage_trees import RecordedTree, lay_out

pytestmark = pytest.mark.cluster

AUDITED_WITHIN_S = 600


def asked(tree: RecordedTree, number: int) -> dict[str, Any]:
    root = {
        "uri": tree.root.uri,
        "read_at": tree.root.read_at,
        "clusters": ["lab"],
        "attested": True,
    }
    as_of = tree.newest + timedelta(minutes=number)
    return {
        "audit_id": f"run-{number}",
        "as_of": as_of,
        "age_guard_h": 24,
        "roots": [root],
        "jobs": recorded_jobs(tree),
    }


@pytest.mark.long
def test_spark_connect_leaves_what_one_process_leaves(warm_spark: str, tmp_path: Path) -> None:
    tree = lay_out("1.20.5-H", tmp_path / "tree")
    (tree.directory / "notes").mkdir()
    for number in range(audit_size.MOST_LISTED):
        (tree.directory / "notes" / str(number)).touch()
    (tmp_path / "audits").mkdir()
    auditor = Auditor(tmp_path / "audits")
    first = auditor.audit([asked(tree, 1)]).manifest
    request = tmp_path / "request.json"
    request.write_text(json.dumps({"audits": [auditor.completed(asked(tree, 2))]}))
    told = ("--request", str(request), "--previous", f"{first.run_dir}/{manifests.NAME}")
    client = run_job(
        "audit",
        tmp_path / "audits" / "lake",
        tmp_path / "run",
        "connect",
        {"SPARK_REMOTE": warm_spark},
        *told,
    )
    try:
        said, _ = client.communicate(timeout=AUDITED_WITHIN_S)
    finally:
        client.kill()
    assert client.returncode == 0, said[-4000:]
    by_spark = manifests.read(str(tmp_path / "run" / manifests.NAME))
    here = auditor.audit([asked(tree, 2)]).manifest
    assert written_by(by_spark) == written_by(here)
    # Spark's workers give their files names of their own.
    assert any(len(name) > len("part-00000.parquet") for name in names(by_spark))


def names(run: manifests.Manifest) -> list[str]:
    return [Path(file).name for output in run.tables.values() for file in output.files]
