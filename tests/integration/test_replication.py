"""A real Flink whose checkpoints are destroyed: its job goes on from the copy at another place, and has counted every record once."""

import time
from pathlib import Path

import pytest

from spark_jobs.replication.request import Request, Result
from spark_jobs.replication.round import NotCopied, replicate
from tests.lab.cluster import Lab, start

pytestmark = pytest.mark.integration

LIMIT, KEYS = 90_000, 300


@pytest.mark.parametrize(
    ("version", "incident"),
    [("1.12.5", "summed"), ("1.20.5", "summed"), ("2.3.0", "summed"), ("1.20.5", "summed-merged"), ("2.3.0", "summed-merged")],
)
def test_a_job_is_restored_from_the_copy_alone(version: str, incident: str, tmp_path: Path) -> None:
    with start(version, incident, slot=8, folder=tmp_path / "flink") as lab:
        results = copied_again_and_again(lab, tmp_path / "copy")
        if incident == "summed":
            # Merged files of so little state grow with each checkpoint, and are copied as far as they go.
            assert any(0 < result.copied_files < result.files - 1 for result in results[1:]), results
        copied = results[-1]
        lab.cancel()
        for path in lab.layout.folder.glob("counts.*"):
            path.unlink()
        lab.checkpoint_dir.rename(tmp_path / "destroyed")
        lab.checkpoint_dir.mkdir()
        second = lab.play(incident, restore=copied.location)
        account = lab.wait_for(lambda account: account["counts"]["completed"] >= 1, job_id=second)
        assert account["latest"]["restored"]["id"] == copied.checkpoint_id
        wait_finished(lab, second)
        counts = [line.split() for path in lab.layout.folder.glob("counts.*") for line in path.read_text().splitlines()]
        assert {int(key): int(seen) for key, seen in counts} == dict.fromkeys(range(KEYS), LIMIT // KEYS)


def copied_again_and_again(lab: Lab, copy: Path) -> list[Result]:
    """A round after each of some checkpoints."""
    root = f"file:{lab.checkpoint_dir}"
    request = Request("one", f"{root}/{lab.job_id}", str(copy), None, ((root, None),))
    results = []
    for completed in (2, 3, 4, 5):
        lab.wait_for(lambda account, least=completed: account["counts"]["completed"] >= least)
        results.append(up_to_date(request))
    return results


def up_to_date(request: Request) -> Result:
    """A checkpoint may be subsumed as its last file is copied; the next try takes the next one."""
    for _ in range(3):
        try:
            return replicate(request)
        except NotCopied:
            time.sleep(1)
    return replicate(request)


def wait_finished(lab: Lab, job_id: str, within_s: float = 240) -> None:
    deadline = time.monotonic() + within_s
    while (state := lab.get(f"/jobs/{job_id}")["state"]) != "FINISHED":
        assert state in ("CREATED", "RUNNING", "INITIALIZING") and time.monotonic() < deadline, state
        time.sleep(0.5)
