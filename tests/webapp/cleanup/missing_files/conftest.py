"""The incident of a lost file as Weir has it: two audits, before and after, and the jobs as Flink
reported them.
"""

from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from tests import played_trees
from tests.played import answers
from tests.webapp.builders import job
from tests.webapp.storage.builders import audit, root, take_up

BEFORE, AFTER = "before-loss", "final"


@pytest.fixture(scope="session")
def played_audits(tmp_path_factory):
    """version → folder, times of the audits, and what they left."""
    kept = {}

    def of(version):
        if version not in kept:
            played, folder = f"{version}/lost-file", tmp_path_factory.mktemp("lost")
            times = [
                (BEFORE, played_trees.newest(played, BEFORE) + timedelta(seconds=1)),
                (AFTER, played_trees.newest(played) + timedelta(minutes=2)),
            ]
            states = flink_jobs(played)
            asked = [
                {
                    "cluster": "lab",
                    "job_id": job_id,
                    "name": "lab-lost-file",
                    "terminal": state == "CANCELED",
                    "seen": True,
                }
                for job_id, (state, _ended) in states.items()
            ]
            kept[version] = folder, times, played_trees.audited(played, folder, times, asked)
        return kept[version]

    return of


def flink_jobs(played):
    """Job id → state and end by Flink's last answer on it."""
    found = {}
    for answer in answers(played, "/jobs/([0-9a-f]{32})"):
        ended = answer.body["end-time"]
        found[answer.found[0]] = (
            answer.body["state"],
            datetime.fromtimestamp(ended / 1000, UTC) if ended > 0 else None,
        )
    return found


@pytest.fixture
def lost_file(db, played_audits):
    """Loads what was audited; returns the folder in which the tree lies as it was in the end."""

    def loaded(version: str, *, listings: bool = True) -> Path:
        played = f"{version}/lost-file"
        folder, times, audits = played_audits(version)
        uri = played_trees.root_uri(played)
        root(uri, read_at=str(folder / f"tree-{AFTER}"))
        for number, ((_at, as_of), found) in enumerate(zip(times, audits, strict=True), 1):
            run = folder / "audits" / f"run-{number}"
            kept = {
                "run_dir": str(run),
                "manifest_path": str(run / "manifest.json"),
                "files_kept": listings,
            }
            audit(f"run-{number}", as_of=as_of, roots=[uri], **kept)
            take_up(partial(found.rows, audit_id=f"run-{number}"))
        for job_id, (state, ended) in flink_jobs(played).items():
            config = {"retained_on_cancellation": True}
            job(
                "lab",
                at=times[-1][1],
                job_id=job_id,
                name="lab-lost-file",
                state=state,
                terminal=state == "CANCELED",
                end_time=ended,
                checkpoint_config=config,
            )
        return folder

    return loaded
