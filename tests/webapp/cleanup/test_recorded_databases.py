"""Databases of ForSt in checkpoint storage, as a real Flink 2.3.0 left them: what goes is what no
attempt and no checkpoint needs, and nothing else.

A second of the recording is an hour here, for the age guard.
"""

import gzip
import json
import os
import tarfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from tests.webapp.builders import cluster, job, person
from tests.webapp.cleanup.test_whole import home, run
from tests.webapp.cleanup.worlds import refers_to
from tests.webapp.storage.test_known_jobs import start
from webapp.cleanup import orders
from webapp.cleanup.models import CleanupPlan
from webapp.fleet.models import JobCurrent
from webapp.storage.models import VerdictFigures

__all__ = ["home"]
pytestmark = pytest.mark.django_db(transaction=True)

FOLDER = Path(__file__).parents[2] / "fixtures" / "forst"
ROOT = "file:/opt/l/forst/checkpoints"
with gzip.open(FOLDER / "phases.json.gz") as _content:
    PHASES = {phase["phase"]: phase for phase in json.load(_content)}
BEGAN_MS = min(phase["at"] for phase in PHASES.values()) - 200_000
FIRST = datetime.now(UTC).replace(microsecond=0) - timedelta(days=90)


class Recorded:
    """The tree of one phase below ``directory``, and what is known of its jobs."""

    def __init__(self, phase: str, directory: Path) -> None:
        self.phase, self.directory = PHASES[phase], directory
        self.at = self.instant(self.phase["at"])
        with tarfile.open(FOLDER / "metadata.tar.gz") as archive:
            for name, size, modified in self.phase["files"]:
                path = directory / name
                path.parent.mkdir(parents=True, exist_ok=True)
                if path.name == "_metadata":
                    path.write_bytes(archive.extractfile(name).read())  # type: ignore[union-attr]
                else:
                    path.touch()
                    os.truncate(path, size)
                written = self.instant(modified).timestamp()
                os.utime(path, (written, written))

    def instant(self, at_ms: int) -> datetime:
        return FIRST + timedelta(hours=(at_ms - self.phase["at"]) / 1000 + 24 * 20)

    def tell(self, *, deployments: bool = True) -> None:
        cluster("app", at=timezone.now() + timedelta(days=1), flink_version="2.3.0")
        for told in self.phase["jobs"]:
            terminal = told["state"] == "CANCELED"
            attempts = [at for of in told["attempts"].values() for _attempt, at in of]
            restored, completed = told["restored"], told["completed"]
            row = job(
                "app",
                at=timezone.now(),
                job_id=told["job_id"],
                state=told["state"],
                terminal=terminal,
                start_time=self.instant(told["start-time"]),
                end_time=self.instant(told["end-time"]) if terminal else None,
                flink_version="2.3.0",
                flink_counts=None,
                graph={"vertices": [{"parallelism": len(of)} for of in told["attempts"].values()]},
                checkpoint_config={
                    "state_backend": "ForStStateBackend",
                    "retained_on_cancellation": True,
                },
                last_completed_id=completed["id"],
                last_completed_at=self.instant(completed["latest_ack_timestamp"]),
                last_completed_path=completed["external_path"],
                restored_checkpoint_id=restored and restored["id"],
                restored_at=restored and self.instant(restored["restore_timestamp"]),
                restored_path=restored and restored["external_path"],
            )
            if deployments:
                began = self.instant(told["running-since"])
                start(row, began, sum(at >= told["running-since"] for at in attempts))
        run("add_storage_root", ROOT, "--read-at", str(self.directory), "--attest", "olga")

    def audit_twice(self) -> None:
        """With a checkpoint of running jobs between, which refers to what the last one does."""
        later = [self.at + timedelta(days=days) for days in (5, 6, 10)]
        run("audit_storage", "--as-of", later[0].isoformat())
        JobCurrent.objects.filter(terminal=False).update(last_completed_at=later[1])
        run("audit_storage", "--as-of", later[2].isoformat())

    def clean_up_all(self) -> set[str]:
        """What is gone then, relative to the root."""
        user = person("ada")
        user.is_superuser = True
        user.save()
        run("plan_cleanup", "--waste", "--json")
        for plan in CleanupPlan.objects.exclude(files=0):
            orders.approve(plan, user, timezone.now())
            run("apply_cleanup", str(plan.name), "--apply", "--json")
            CleanupPlan.objects.filter(pk=plan.pk).update(purge_at=timezone.now())
            run("apply_cleanup", str(plan.name), "--purge", "--json")
        return {name for name, *_ in self.phase["files"] if not (self.directory / name).exists()}

    def named(self) -> set[str]:
        """By any ``_metadata`` that was there, and these themselves."""
        return {
            uri.removeprefix(f"{ROOT}/")
            for metadata in self.directory.rglob("_metadata")
            for uri in (*refers_to(metadata), f"{ROOT}/{metadata.relative_to(self.directory)}")
        }

    def left(self) -> set[str]:
        """Files of databases of attempts before the last, and of jobs that ended, that nothing
        names.
        """
        newest = {
            told["job_id"]: f"attempt_{max(a for of in told['attempts'].values() for a, _ in of)}/"
            for told in self.phase["jobs"]
            if told["state"] == "RUNNING"
        }
        return {
            name
            for name, *_ in self.phase["files"]
            if "/db/" in name and newest.get(name.partition("/")[0], "none") not in name
        } - self.named()


@pytest.mark.parametrize(
    ("phase", "files"), [("restarted-again", 9), ("merged", 9), ("cancelled", 9)]
)
def test_what_attempts_that_ended_left_in_their_databases_goes_and_nothing_else(
    home: Path, phase: str, files: int
) -> None:
    tree = Recorded(phase, home / "tree")
    left = tree.left()
    tree.tell()
    tree.audit_twice()
    kinds = VerdictFigures.objects.filter(verdict="orphan").values_list("kind", "files")
    assert set(kinds) == {("ended_attempt", files)} and len(left) == files
    assert tree.clean_up_all() == left


@pytest.mark.parametrize("phase", ["claimed", "not-claimed-restarted", "end"])
def test_only_what_nothing_needs_goes_where_other_jobs_went_on(home: Path, phase: str) -> None:
    """The last checkpoint of the first job is gone: the second one claimed it, and goes on reading
    what it named.
    """
    tree = Recorded(phase, home / "tree")
    left = tree.left()
    tree.tell()
    tree.audit_twice()
    gone = tree.clean_up_all()
    assert gone == {name for name in left if phase != "claimed" and name.startswith("6651")}


@pytest.mark.parametrize("phase", ["killed", "restarted-again", "merged"])
def test_a_database_stays_where_nobody_knows_since_when_its_attempts_run(
    home: Path, phase: str
) -> None:
    """A TaskManager that was killed a moment ago; a restart of which nobody saw the tasks."""
    tree = Recorded(phase, home / "tree")
    tree.tell(deployments=phase == "killed")
    tree.audit_twice()
    assert not {name for name in tree.clean_up_all() if "/db/" in name}
