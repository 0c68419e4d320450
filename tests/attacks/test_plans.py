"""Somebody who can write where clean-up plans lie, or even names a plan of their own, wants files
of others moved and deleted.

A plan is what its name is the hash of: what was changed is refused before a file is touched. And
even a plan that was forged as a whole moves only what the audit right before it judges an orphan,
at the place that was judged.
"""

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.utils import timezone

from ingest.storage.plan_folder import PlanFolder
from tests.attacks.inhabited import somebody
from tests.webapp.cleanup import stored
from tests.webapp.cleanup.carrying import Carried, plan
from tests.webapp.cleanup.conftest import audited, orphan, world
from tests.webapp.cleanup.worlds import OLD, World, date
from webapp.accounts.roles import Role
from webapp.cleanup import manifest as manifests
from webapp.cleanup import orders
from webapp.cleanup.choices import PlanState
from webapp.cleanup.entries import SCHEMA
from webapp.cleanup.errors import CleanupError, Halted, PlanActionRefused, PlanDamaged
from webapp.cleanup.manifest import PartEntry, PlannedRoot, name_of
from webapp.cleanup.models import CleanupPlan
from webapp.cleanup.plan_reader import PlanReader

__all__ = ["audited", "orphan", "world"]
PART = "part-00000.parquet"


def files_of(world: World) -> set[Path]:
    return set(world.all_files())


def in_json(**changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        told = json.loads((folder / "manifest.json").read_bytes())
        (folder / "manifest.json").write_bytes(
            json.dumps({**told, **changes}, sort_keys=True, separators=(",", ":")).encode()
        )

    return change


def in_part(
    change: Callable[[list[dict[str, Any]]], None], *, told: bool
) -> Callable[[Path], None]:
    """Other rows in the part; with ``told`` the manifest says their hash."""

    def changed(folder: Path) -> None:
        rows = pq.read_table(folder / PART).to_pylist()
        change(rows)
        pq.write_table(pa.Table.from_pylist(rows, SCHEMA), folder / PART)
        if told:
            manifest = json.loads((folder / "manifest.json").read_bytes())
            digest = hashlib.sha256((folder / PART).read_bytes()).hexdigest()
            manifest["parts"][0] |= {"rows": len(rows), "sha256": digest}
            in_json(parts=manifest["parts"])(folder)

    return changed


def _another(rows: list[dict[str, Any]]) -> None:
    rows.append(dict(rows[0]))


def _elsewhere(rows: list[dict[str, Any]]) -> None:
    rows[0]["listed_path"] = "/etc/passwd"


def _linked(folder: Path) -> None:
    shutil.move(folder / PART, folder.parent / "elsewhere.parquet")
    (folder / PART).symlink_to(folder.parent / "elsewhere.parquet")
    with (folder.parent / "elsewhere.parquet").open("ab") as out:
        out.write(b"x")


TAMPERED: dict[str, Callable[[Path], None]] = {
    "a byte of the manifest": lambda folder: _flip(folder / "manifest.json"),
    "a byte of a part": lambda folder: _flip(folder / PART),
    "it never expires": in_json(expires_at="9999-12-31T00:00:00Z"),
    "no age guard": in_json(age_guard_h=0),
    "no grace": in_json(grace_s=0),
    "more roots": in_json(searched_roots=[]),
    "another format": in_json(format=99),
    "no parts": in_json(parts=[]),
    "spaces": lambda folder: (folder / "manifest.json").write_bytes(
        (folder / "manifest.json").read_bytes() + b" "
    ),
    "no json": lambda folder: (folder / "manifest.json").write_bytes(b"\xff"),
    "an empty manifest": lambda folder: (folder / "manifest.json").write_bytes(b""),
    "no manifest": lambda folder: (folder / "manifest.json").unlink(),
    "no part": lambda folder: (folder / PART).unlink(),
    "a part that is a link": _linked,
    "another row": in_part(_another, told=False),
    "another row that is told": in_part(_another, told=True),
    "another file": in_part(_elsewhere, told=False),
    "another file that is told": in_part(_elsewhere, told=True),
}


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("name", TAMPERED)
def test_a_plan_that_was_changed_is_refused_before_a_file_is_touched(
    world: World, orphan: Path, tmp_path: Path, name: str
) -> None:
    carried, before = plan(world, tmp_path), files_of(world)
    TAMPERED[name](Path(carried.reader.folder.uri))
    with pytest.raises(PlanDamaged):
        carried.apply()
    assert files_of(world) == before and not world.quarantine.exists() and not carried.rows("apply")


def test_the_folder_of_another_plan_is_not_that_of_this_one(
    world: World, orphan: Path, tmp_path: Path
) -> None:
    carried, other = plan(world, tmp_path), plan(world, tmp_path, waste=True, created_by="eve")
    shutil.rmtree(carried.reader.folder.uri)
    shutil.copytree(other.reader.folder.uri, carried.reader.folder.uri)
    with pytest.raises(PlanDamaged):
        carried.apply()
    assert orphan.exists()


@pytest.mark.parametrize(
    "name",
    ["a byte of the manifest", "a byte of a part", "it never expires", "another file that is told"],
)
def test_what_was_changed_after_it_was_approved_stops_the_plan(
    audited: World, orphan: Path, name: str
) -> None:
    made = stored.made(audited)
    orders.approve(made, somebody(Role.ADMIN), timezone.now())
    TAMPERED[name](Path(made.folder))
    orders.start_apply(made, "olga", timezone.now())
    with pytest.raises(PlanDamaged):
        stored.done(made)
    made.refresh_from_db()
    assert made.state == PlanState.HALTED and "Make a new plan" in made.trouble and orphan.exists()


def test_a_row_that_says_it_never_expires_is_held_to_the_plan(audited: World, orphan: Path) -> None:
    """Of the database; the manifest says until when."""
    made = stored.made(audited)
    orders.approve(made, somebody(Role.ADMIN), timezone.now())
    carried = Carried(
        audited, Path(made.folder).parent, PlanReader(PlanFolder(made.folder), made.name or "")
    )
    CleanupPlan.objects.update(expires_at=timezone.now() + timedelta(days=900))
    carried.now = timezone.now() + timedelta(days=800)
    with pytest.raises(Halted, match="expired"):
        carried.apply()
    assert orphan.exists()


@pytest.mark.parametrize("role", [None, Role.VIEWER, Role.OPERATOR])
def test_nobody_else_approves_and_nothing_is_applied_out_of_turn(
    audited: World, orphan: Path, role: Role | None
) -> None:
    made, now = stored.made(audited), timezone.now()
    with pytest.raises(PlanActionRefused):
        orders.approve(made, somebody(role), now)
    for order in (orders.start_apply, orders.start_undo, orders.start_purge):
        with pytest.raises(PlanActionRefused):
            order(made, "eve", now)
    for state in (PlanState.APPLYING, PlanState.PURGING, PlanState.UNDOING):
        CleanupPlan.objects.update(state=state)
        with contextlib.suppress(CleanupError):
            stored.done(made)
        assert orphan.exists()


def test_a_quarantine_that_became_a_link_takes_nothing(
    audited: World, orphan: Path, tmp_path: Path
) -> None:
    """Into the root: what is moved there would be found by the next audit, and by a purge of
    another plan.
    """
    made = stored.made(audited)
    orders.approve(made, somebody(Role.ADMIN), timezone.now())
    (audited.root / "inside").mkdir()
    audited.quarantine.symlink_to(audited.root / "inside")
    orders.start_apply(made, "olga", timezone.now())
    with pytest.raises(CleanupError):
        stored.done(made)
    assert orphan.exists()


def forged(carried: Carried, rows: list[dict[str, Any]], **changes: Any) -> Carried:
    """By somebody who can also write the name into the database: everything fits together."""
    folder = PlanFolder(f"{carried.reader.folder.uri}-forged")
    Path(folder.uri).mkdir()
    pq.write_table(pa.Table.from_pylist(rows, SCHEMA), Path(folder.uri) / PART)
    content = (Path(folder.uri) / PART).read_bytes()
    part = PartEntry(
        PART, len(rows), 1, hashlib.sha256(content).hexdigest(), rows[0]["path"], rows[-1]["path"]
    )
    told = replace(carried.reader.manifest, parts=(part,), **changes).to_bytes()
    folder.write(manifests.FILE_NAME, told)
    return replace(carried, reader=PlanReader(folder, name_of(told)))


def test_a_plan_that_was_forged_whole_moves_nothing_that_is_needed(
    world: World, orphan: Path, tmp_path: Path
) -> None:
    carried = plan(world, tmp_path)
    (row,) = next(iter(carried.reader.parts())).to_pylist()
    live = next(path for path in world.all_files() if f"file:{path}" in world.referred())
    live.write_bytes(b"x" * orphan.stat().st_size)
    date(live, OLD)
    outside = tmp_path / "outside"
    outside.write_bytes(orphan.read_bytes())
    os.utime(outside, ns=(orphan.stat().st_atime_ns, orphan.stat().st_mtime_ns))
    weight = {"bytes": live.stat().st_size, "modified": row["modified"]}
    for change in (
        {"path": f"file:{live}", "listed_path": str(live), **weight},
        {"listed_path": str(live), **weight},
        {"listed_path": str(outside)},
        {"listed_path": f"{world.root}/../outside"},
        {"listed_path": f"{world.root}/./../outside"},
        {"path": f"file:{outside}", "listed_path": str(outside)},
        {"root": "file:/", "path": f"file:{outside}", "listed_path": str(outside)},
    ):
        with contextlib.suppress(CleanupError, ValueError, KeyError):
            forged(carried, [{**row, **change}]).apply()
        assert live.exists() and outside.exists() and not world.unresolved(), change
        shutil.rmtree(f"{carried.reader.folder.uri}-forged")
    forged(carried, [row]).apply()
    assert not orphan.exists(), (
        "the forgery itself is good: what stopped the others is what they say"
    )


def test_a_forged_quarantine_is_refused(audited: World, orphan: Path, tmp_path: Path) -> None:
    made = stored.made(audited)
    orders.approve(made, somebody(Role.ADMIN), timezone.now())
    carried = Carried(audited, tmp_path, PlanReader(PlanFolder(made.folder), made.name or ""))
    (row,) = next(iter(carried.reader.parts())).to_pylist()
    evil = forged(
        carried,
        [row],
        roots=(PlannedRoot(audited.uri, str(audited.root), str(audited.root / "shared")),),
    )
    CleanupPlan.objects.update(name=evil.reader.name, folder=evil.reader.folder.uri)
    orders.start_apply(CleanupPlan.objects.get(), "olga", timezone.now())
    with pytest.raises(CleanupError, match="quarantine"):
        stored.done(made)
    assert orphan.exists()
