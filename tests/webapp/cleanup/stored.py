"""A world whose audit lies in the database and on disk, as the pipeline leaves it; Spark is the
plain reckoning of the world.
"""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from spark_jobs import manifest as manifests
from tests.webapp.cleanup.carrying import FreshFromDisk
from tests.webapp.cleanup.worlds import NOW, World
from webapp.cleanup import execution, orders, planning
from webapp.cleanup.models import CleanupPlan
from webapp.storage.choices import AuditState
from webapp.storage.models import RootFigures, StorageAudit, StorageRoot
from webapp.work.perform import perform

COUNTED = ("live", "retained_waste", "orphan", "recent", "kept", "missing")
NO_FIGURES = {
    **{f"{verdict}_{unit}": 0 for verdict in COUNTED for unit in ("files", "bytes")},
    "unlisted": 0,
    "doubts": 0,
}


def register(world: World, **fields: Any) -> StorageRoot:
    """As an operator does who attests that all readers are known."""
    return StorageRoot.objects.create(
        uri=world.uri, attested_at=NOW, attested_name="olga", **fields
    )


def audit_of(world: World, folder: Path, **figures: Any) -> StorageAudit:
    """The world as it is, audited and loaded."""
    found = world.audit(folder)
    run_dir = folder / found.audit_id
    files = tuple(str(Path(file).relative_to(run_dir)) for file in found.verdict_files)
    output = manifests.Output(len(world.verdicts()), files)
    tables = {
        "storage_file": output,
        "storage_reference": manifests.Output(0, ("references.parquet",)),
    }
    path = manifests.write(
        manifests.Manifest("audit", found.audit_id, {}, {}, tables, {}, NOW, NOW), str(run_dir)
    )
    row = StorageAudit.objects.create(
        audit_id=found.audit_id,
        state=AuditState.LOADED,
        roots=[world.uri],
        as_of=NOW,
        run_dir=str(run_dir),
        manifest_path=path,
    )
    told = {
        "files": 3,
        "bytes": 300,
        "metadata_files": 2,
        "checkpoints": 2,
        "cleanable": True,
        "not_cleanable": [],
    }
    RootFigures.objects.create(
        audit=row, root=world.uri, as_of=NOW, **{**NO_FIGURES, **told, **figures}
    )
    return row


def made(world: World, *, waste: bool = False, name: str = "olga") -> CleanupPlan:
    """Asked for and built.

    The clock of plans is the real one, the world's is long ago: nothing in it is recent.
    """
    plan = planning.request_plan([world.uri], waste=waste, user=None, name=name, at=timezone.now())
    return done(plan)


def planned(folder: Path) -> CleanupPlan:
    """Of a root below ``folder`` with one checkpoint and one orphan, audited."""
    world = World(folder / "ckpt")
    world.checkpoint(1, 1, [world.file(world.job(1) / "shared")])
    world.file(world.job(1) / "shared")
    register(world)
    audit_of(world, folder / "runs")
    return made(world)


def done(plan: CleanupPlan) -> CleanupPlan:
    """Whatever was ordered is carried out."""
    orders.wake(plan, timezone.now())
    perform(orders.key_of(plan), even_if_not_due=True)
    plan.refresh_from_db()
    return plan


def audit_by_world(monkeypatch: pytest.MonkeyPatch, world: World, folder: Path) -> None:
    """The audit right before an apply looks at the disk as it is then."""
    monkeypatch.setattr(
        execution,
        "_fresh_audits",
        lambda *_: FreshFromDisk(world, folder, timezone.now() - timedelta(seconds=1)),
    )
