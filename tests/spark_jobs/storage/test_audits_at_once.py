"""Two audits of one root that carry on from the same one, and what the next makes of both."""

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.manifest import Manifest
from tests.spark_jobs.storage.audits import Auditor
from tests.webapp.cleanup.worlds import World, name_of_job

HOUR = timedelta(hours=1)
NOW = datetime(2026, 3, 20, 4, tzinfo=UTC)
OLD = NOW - 30 * 24 * HOUR
Rows = dict[str, tuple[str, str]]


def audit(world: World, auditor: Auditor, at: datetime) -> Rows:
    """Verdict and reason by path, of a job that goes on completing checkpoints."""
    number = int(at.timestamp()) // 3600
    folder = world.checkpoint(1, number, [], at=at - HOUR)
    job: dict[str, Any] = {
        "cluster": "prod", "job_id": name_of_job(1), "name": "job", "state": "RUNNING",
        "seen": True, "terminal": False, "last_completed_id": number,
        "last_completed_at": at - HOUR, "last_completed_path": f"file:{folder}",
    }  # fmt: skip
    root = {"uri": world.uri, "attested": True, "clusters": ["prod"]}
    asked = {"audit_id": "a", "as_of": at, "age_guard_h": 72, "roots": [root], "jobs": [job]}
    found = auditor.audit([asked])
    return {
        row["path"]: (row["verdict"], row["reason"])
        for table in ("storage_file", "storage_live")
        for row in found.rows(table, "a")
    }


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "ckpt")


def auditor(tmp_path: Path, name: str, previous: Manifest | None = None) -> Auditor:
    (tmp_path / name).mkdir()
    return Auditor(tmp_path / name, previous)


@pytest.mark.parametrize("is_carried", [True, False])
def test_what_only_the_one_saw_referred_to_is_kept_by_the_next(
    world: World, tmp_path: Path, is_carried: bool
) -> None:
    file = world.file(world.job(1) / "shared", at=OLD)
    first = auditor(tmp_path, "first")
    audit(world, first, NOW - 80 * HOUR)
    one, other = (auditor(tmp_path, name, first.previous) for name in ("one", "other"))
    seen = world.checkpoint(1, 1, [file], at=OLD)
    assert audit(world, one, NOW - 2 * HOUR)[f"file:{file}"][0] == "live"
    shutil.rmtree(seen)
    audit(world, other, NOW - HOUR)
    if is_carried:
        other.besides = [one.previous] if one.previous else []
    expected = ("kept", "was_referred") if is_carried else ("orphan", "unreferenced")
    assert audit(world, other, NOW)[f"file:{file}"] == expected
