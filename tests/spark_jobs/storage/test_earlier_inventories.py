"""An inventory of an earlier date proves since when a file has been there, if it is the same file
and no whole listing lacked it since.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.storage.previous_audit import BEFORE, merge_inventories
from tests.spark_jobs.storage.audits import Auditor
from tests.webapp.cleanup.worlds import World, name_of_job

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
NOW = datetime(2026, 3, 20, 4, tzinfo=UTC)
WRITTEN, DATED = NOW - 30 * DAY, NOW - 10 * DAY


@dataclass
class Story:
    """Two audits half a day apart of a job that completes checkpoints, and one of an inventory of
    before.
    """

    folder: Path
    auditor: Auditor = field(init=False)
    world: World = field(init=False)
    orphan: Path = field(init=False)
    needed: Path = field(init=False)
    checkpoints: int = 0

    def __post_init__(self) -> None:
        self.world, self.auditor = World(self.folder / "ckpt"), Auditor(self.folder / "audits")
        (self.folder / "audits").mkdir(parents=True)
        self.needed, self.orphan = (
            self.world.file(self.world.job(1) / "shared", at=WRITTEN) for _ in range(2)
        )

    def audit(self, at: datetime) -> dict[str, Any]:
        """Verdict and all of the file that nothing refers to."""
        self.checkpoints += 1
        folder = self.world.checkpoint(1, self.checkpoints, [self.needed], at=at - HOUR)
        job = {
            "cluster": "prod",
            "job_id": name_of_job(1),
            "name": "job",
            "state": "RUNNING",
            "seen": True,
            "terminal": False,
            "last_completed_id": self.checkpoints,
            "last_completed_at": at - HOUR,
            "last_completed_path": f"file:{folder}",
        }
        return self._rows(at, [job])[f"file:{self.orphan}"]

    def audit_of_the_past(self, modified: datetime = WRITTEN, more_bytes: int = 0) -> None:
        """Of what an inventory of then says of the file."""
        size = self.orphan.stat().st_size + more_bytes
        inventory = self.folder / "inventory.csv"
        inventory.write_text(f"path,bytes,modified\n{self.orphan},{size},{modified.isoformat()}\n")
        newest, self.auditor.previous = self.auditor.previous, None
        self._rows(DATED, [], inventory=str(inventory))
        assert self.auditor.previous is not None
        self.auditor.besides, self.auditor.previous = [self.auditor.previous], newest

    def _rows(self, at: datetime, jobs: list[dict[str, Any]], **more: str) -> dict[str, Any]:
        root = {"uri": self.world.uri, "attested": True, "clusters": ["prod"], **more}
        name = f"audit-{at:%Y%m%dT%H%M%S}"
        asked = {"audit_id": name, "as_of": at, "age_guard_h": 72, "roots": [root], "jobs": jobs}
        rows = self.auditor.audit([asked]).rows("storage_file", name)
        return {row["path"]: row for row in rows}


@pytest.fixture
def story(tmp_path: Path) -> Story:
    return Story(tmp_path)


def test_a_file_of_an_earlier_inventory_is_an_orphan_after_two_audits(story: Story) -> None:
    assert story.audit(NOW)["reason"] == "age_guard"
    story.audit_of_the_past()
    row = story.audit(NOW + DAY / 2)
    assert (row["verdict"], row["first_seen_at"]) == ("orphan", DATED)
    assert row["unreferenced_since"] == NOW, "what it says of references then is not taken over"


def test_an_inventory_that_is_audited_first_is_one_of_the_two(story: Story) -> None:
    story.audit_of_the_past()
    row = story.audit(NOW)
    assert (row["verdict"], row["unreferenced_since"]) == ("orphan", DATED)


def test_without_one_its_age_counts_from_the_first_look(story: Story) -> None:
    story.audit(NOW)
    row = story.audit(NOW + DAY / 2)
    assert (row["verdict"], row["first_seen_at"]) == ("recent", NOW)


@pytest.mark.parametrize(
    "then",
    [{"more_bytes": 1}, {"modified": WRITTEN - DAY}],
    ids=["another size", "another time"],
)
def test_another_file_at_that_path_then_proves_nothing(story: Story, then: Any) -> None:
    story.audit(NOW)
    story.audit_of_the_past(**then)
    row = story.audit(NOW + DAY / 2)
    assert (row["verdict"], row["first_seen_at"]) == ("recent", NOW)


SEEN: dict[str, Any] = {
    "root": "file:/ckpt",
    "path": "file:/ckpt/a",
    "bytes": 5,
    "modified": WRITTEN + timedelta(seconds=7),
    "first_seen_at": NOW,
}
THEN = SEEN | {"first_seen_at": DATED}


def first_seen(*rows: dict[str, Any]) -> datetime | None:
    known = pa.Table.from_pylist([dict(row) for row in rows], BEFORE["known"])
    found = merge_inventories({"known": known, "earlier": BEFORE["earlier"].empty_table()}, {}, ())
    (row,) = found["known"].to_pylist()
    first: datetime | None = row["first_seen_at"]
    return first


def test_a_listing_with_minutes_only_means_the_file_of_that_minute() -> None:
    assert first_seen(SEEN, THEN | {"modified": WRITTEN}) == DATED
    for before in (timedelta(seconds=1), timedelta(seconds=67)):
        assert first_seen(SEEN, THEN | {"modified": SEEN["modified"] - before}) == NOW


@pytest.mark.parametrize(
    "change",
    [
        {"unlisted_at": NOW - DAY},
        {"modified": None},
        {"bytes": None},
        {"modified": DATED - 23 * HOUR, "first_seen_at": DATED},
    ],
    ids=["a listing lacked it", "no time", "no size", "too young then"],
)
def test_what_leaves_room_for_another_file_proves_nothing(change: dict[str, Any]) -> None:
    now = SEEN | ({"modified": change["modified"]} if "first_seen_at" in change else {})
    assert first_seen(now, THEN | change) == NOW
    assert first_seen(now | {"unlisted_at": change.get("unlisted_at")}, THEN | change) == NOW
