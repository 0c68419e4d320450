"""``_entropy_``: data lies below a directory of random characters, and the ``_metadata`` of the
same checkpoint elsewhere.
"""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.webapp.cleanup.test_repeated_job_ids import OLD, Fleet, completed, restored, tell
from tests.webapp.cleanup.test_whole import home, run
from tests.webapp.cleanup.worlds import World, name_of_job
from webapp.storage.models import StorageRoot

__all__ = ["home"]
pytestmark = pytest.mark.django_db(transaction=True)


def scatter(world: World, number: int, at: object = OLD) -> list[Path]:
    """Data files as Flink scatters them: shared and exclusive ones, each below characters of its
    own.
    """
    folders = [
        f"{random}/ckpt/{name_of_job(number)}/{place}"
        for random in ("a7Kd", "00ff", "zz9x")
        for place in ("shared", "chk-13")
    ]
    return [world.file(world.root / folder, at=at) for folder in folders]  # type: ignore[arg-type]


def write_metadata(
    world: World, number: int, checkpoint: int, files: list[Path], at: object = OLD
) -> str:
    folder = world.root / "ckpt" / name_of_job(number) / f"chk-{checkpoint}"
    world.snapshot(folder, checkpoint, files, at=at)  # type: ignore[arg-type]
    return f"file:{folder}"


@pytest.mark.parametrize("state", ["running", "ended", "nothing reported"])
def test_scattered_files_stay(home: Path, state: str) -> None:
    """Those that are needed, and others of which nobody can say whose they are."""
    fleet = Fleet(home)
    one = fleet.application("app-a", 5)
    one.job(5).rmdir()
    files = scatter(one, 5)
    path = write_metadata(one, 5, 13, files[::2])
    if state != "nothing reported":
        tell("app-a", last_completed_id=13, last_completed_at=OLD, last_completed_path=path)
    if state == "ended":
        tell("app-a", state="CANCELED", terminal=True)
    fleet.audit_twice()
    assert not fleet.clean_up_all()


@pytest.mark.parametrize("registered", ["metadata", "one of the others", "each"])
def test_scattered_files_stay_where_roots_are_parts_of_a_bucket(
    home: Path, registered: str
) -> None:
    fleet = Fleet(home)
    one = fleet.application("app-a", 5)
    one.job(5).rmdir()
    files = scatter(one, 5)
    path = write_metadata(one, 5, 13, files[::2])
    tell(
        "app-a",
        state="CANCELED",
        terminal=True,
        last_completed_id=13,
        last_completed_at=OLD,
        last_completed_path=path,
    )
    StorageRoot.objects.all().delete()
    parts = {
        "metadata": ["ckpt"],
        "one of the others": ["ckpt", "a7Kd"],
        "each": ["ckpt", "a7Kd", "00ff", "zz9x"],
    }[registered]
    for part in parts:
        run("add_storage_root", str(one.root / part), "--attest", "olga", "--cluster", "app-a")
    fleet.audit_twice()
    assert not fleet.clean_up_all() & {*files[::2]}


def test_scattered_files_of_the_job_before_stay_where_its_heir_refers_to_them(home: Path) -> None:
    fleet = Fleet(home)
    one = fleet.application("app-a", 5)
    heir = fleet.application("app-b", 7)
    later = OLD + timedelta(days=2)
    files = scatter(one, 5)
    path = write_metadata(one, 5, 13, files)
    tell(
        "app-a",
        state="CANCELED",
        terminal=True,
        last_completed_id=13,
        last_completed_at=OLD,
        last_completed_path=path,
    )
    heirs = write_metadata(heir, 7, 14, [*files[:3], *scatter(heir, 7, later)], later)
    of_restore = restored(one, 13, OLD + timedelta(days=1), 5) | {"restored_path": path}
    tell("app-b", **of_restore, **(completed(heir, 14, later, 7) | {"last_completed_path": heirs}))
    fleet.audit_twice()
    assert not fleet.clean_up_all()
