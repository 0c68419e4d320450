"""What Flink does with snapshots, against what was said of them before."""

import shutil
import time
import urllib.error
from dataclasses import replace
from pathlib import Path

import pytest

from ingest.flink_rest.payloads.plan import vertices
from spark_jobs.diagnosis.preflight.judging import Preflight, judge
from spark_jobs.diagnosis.preflight.subjects import Job, PlannedOperator, Snapshot
from tests.lab.cluster import Lab, start
from tests.lab.rest import call_or_none
from tests.webapp.analyses.recovery.snapshots import snapshot_in
from tests.webapp.storage.builders import root
from webapp.storage.xray.location import find_metadata

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.django_db]


def said(lab: Lab, snapshot: Snapshot, job_id: str, of_program: Snapshot) -> Preflight:
    """Of the job as Flink reports it, whose types are known here to be the same; ``of_program``:
    taken by another run of its program.
    """
    planned = tuple(
        PlannedOperator(one.vertex_id, one.name, one.parallelism, one.max_parallelism)
        for one in vertices(lab.get(f"/jobs/{job_id}"))
    )
    own = {
        one.operator_id: PlannedOperator(
            one.operator_id, one.name or "", one.parallelism, one.max_parallelism
        )
        for one in of_program.operators
    }
    config = lab.get(f"/jobs/{job_id}/checkpoints/config")
    changelog = config.get("state_changelog_enabled")
    job = Job(
        lab.release.version, planned, own, config["state_backend"], changelog, keeps_types=True
    )
    return judge(snapshot, job)


def happened(lab: Lab, job_id: str) -> str:
    """Restored where all tasks run; a job that Flink refuses fails at once, or restarts."""
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        job = call_or_none(f"{lab.url}/jobs/{job_id}") or {}
        if job.get("state") in ("FAILED", "RESTARTING"):
            return "refused"
        tasks = job.get("vertices") or ()
        if job.get("state") == "RUNNING" and {one["status"] for one in tasks} == {"RUNNING"}:
            return "restores"
        time.sleep(0.2)
    raise AssertionError(job.get("state"))


def test_what_flink_refuses_is_never_said_to_restore(tmp_path: Path) -> None:
    with start("1.20.5", "healthy", slot=7, folder=tmp_path / "lab") as lab:
        root(f"file:{tmp_path}")

        def taken() -> tuple[str, Snapshot]:
            lab.wait_for(lambda account: account["counts"]["completed"] > 0, 120, lab.job_id)
            path = lab.savepoint(120)
            lab.cancel()
            return path, replace(snapshot_in(find_metadata(path)), flink_version="1.20.5")

        path, snapshot = taken()
        lab.job_id = lab.play("healthy", name="larger", **{"second-lag-s": "1"})
        larger, of_larger = taken()
        broken = Path(shutil.copytree(path.removeprefix("file:"), tmp_path / "broken"))
        for file in broken.iterdir():
            if file.name != "_metadata":
                file.unlink()
        of_broken = snapshot_in(find_metadata(f"file:{broken}"))
        assert of_broken.files
        found = {}
        for case, start_from, contents, parallelism in (
            ("same", path, snapshot, "2"),
            ("rescaled", path, snapshot, "3"),
            ("over the maximum", path, snapshot, "129"),
            ("operator removed", larger, of_larger, "2"),
            ("file missing", f"file:{broken}", of_broken, "2"),
        ):
            changed = {"enrich-parallelism": parallelism, "name": case}
            staged = lab.play("healthy", **changed)
            result = said(lab, contents, staged, snapshot)
            lab.cancel(job_id=staged)
            try:
                job_id = lab.play("healthy", start_from, **changed)
            except urllib.error.HTTPError:
                outcome = "refused"
            else:
                outcome = happened(lab, job_id)
                if "FAILED" not in lab.get(f"/jobs/{job_id}")["state"]:
                    lab.cancel(job_id=job_id)
            found[case] = (outcome, result.outcome), result.reasons
        log = "".join(path.read_text() for path in Path("/").glob(lab.log_glob.lstrip("/")))
    for case in ("same", "rescaled"):
        assert found[case][0] == ("restores", "restores"), found[case]
    for case in ("over the maximum", "operator removed", "file missing"):
        assert found[case][0] == ("refused", "refused"), found[case]
    assert "maximum parallelism (128) of the restored state is lower" in log
    assert "because the operator is not available in the new program" in log
