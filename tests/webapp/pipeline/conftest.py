"""A held lease, a way to load hand-written runs, and a home with a stand-in for Spark."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from ingest.lake.store import Lake
from ingest.records import Checkpoint, Observed
from tests.webapp.pipeline.runs import AT, write_run
from webapp.pipeline import loader
from webapp.work import run_files
from webapp.work.lease import Lease
from webapp.work.models import DueWork


@pytest.fixture
def lease(db: None) -> Lease:
    DueWork.objects.ensure({"spark/cycle": 30}, timezone.now())
    claimed = DueWork.objects.claim("spark/cycle", timezone.now())
    assert claimed is not None
    return claimed


@pytest.fixture
def load(lease: Lease, tmp_path: Path) -> Callable[..., dict[str, int]]:
    """``load(tables)`` writes a run that follows the last loaded one, and loads it; returns changed
    rows.
    """

    def load(tables: dict[str, Any], **options: Any) -> dict[str, int]:
        last = loader.last_loaded()
        known = last.to_seq if last else {}
        seq = known.get("checkpoints", 0)
        name = options.pop("name", f"run-{seq}")
        path = write_run(
            tmp_path / name,
            tables,
            from_={"checkpoints": seq},
            to={"checkpoints": seq + 1},
            **options,
        )
        manifest = run_files.read_manifest(path)
        return loader.load(
            loader.accept(manifest, path, None, lease), manifest, lease, lambda line: None
        )

    return load


@pytest.fixture
def home(home: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    settings.SPARK_JOB = "tests.webapp.pipeline.stand_in_spark.run_job"
    monkeypatch.setenv("WEIR_HOME", str(home))
    return home


@pytest.fixture
def see(home: Path) -> Callable[..., None]:
    def see(*ids: int) -> None:
        records = tuple(Checkpoint("a" * 32, number, AT, "COMPLETED") for number in ids)
        Lake(str(home / "lake")).append([Observed("c", AT, "rest", records)])

    return see
