"""A held lease and a way to load hand-written runs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from tests.webapp.pipeline.runs import write_run
from webapp.pipeline import loader, run_files
from webapp.pipeline.lease import Lease
from webapp.pipeline.models import DueWork


@pytest.fixture
def lease(db: None) -> Lease:
    DueWork.objects.ensure({"spark/cycle": 30}, timezone.now())
    claimed = DueWork.objects.claim("spark/cycle", timezone.now())
    assert claimed is not None
    return claimed


@pytest.fixture
def load(lease: Lease, tmp_path: Path) -> Callable[..., dict[str, int]]:
    """``load(tables)`` writes a run that follows the last loaded one, and loads it; returns changed rows."""

    def load(tables: dict[str, Any], **options: Any) -> dict[str, int]:
        last = loader.last_loaded()
        known = last.to_seq if last else {}
        seq = known.get("checkpoints", 0)
        name = options.pop("name", f"run-{seq}")
        path = write_run(tmp_path / name, tables, from_={"checkpoints": seq}, to={"checkpoints": seq + 1}, **options)
        manifest = run_files.read_manifest(path)
        return loader.load(loader.accept(manifest, path, None, lease), manifest, lease, lambda line: None)

    return load
