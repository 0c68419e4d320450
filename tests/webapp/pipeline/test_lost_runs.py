"""Run directories that vanish or are damaged: Weir starts again from the lake by itself, says so,
and leaves the same rows.
"""

import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.urls import reverse

from tests.webapp.pipeline.runs import AT, fact, write_run
from tests.webapp.pipeline.test_cycle import _die, cycles, facts, run_pipeline
from webapp.checkpoints.models import CheckpointFact
from webapp.pipeline import loader
from webapp.work import run_dirs, run_files
from webapp.work.lease import Lease
from webapp.work.models import DueWork, Manifest, PipelineRun

pytestmark = pytest.mark.django_db(transaction=True)


def spoil(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 0xFF
    path.write_bytes(content)


def other_commits(path: Path) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | {"to": {"checkpoints": 0}}))


LOSSES: dict[str, Callable[[Path], object]] = {
    "the directory": shutil.rmtree,
    "all directories": lambda run: shutil.rmtree(run.parent),
    "its manifest": lambda run: (run / "manifest.json").unlink(),
    "a torn manifest": lambda run: (run / "manifest.json").write_text("{"),
    "a foreign manifest": lambda run: other_commits(run / "manifest.json"),
    "a folder in the manifest's place": lambda run: (
        (run / "manifest.json").unlink(),
        (run / "manifest.json").mkdir(),
    ),
    "a file in the directory's place": lambda run: (shutil.rmtree(run), run.write_text("")),
    "its state": lambda run: shutil.rmtree(run / "state"),
    "an empty file of state": lambda run: (run / "state/facts.parquet").write_bytes(b""),
    "a file of state cut short": lambda run: (run / "state/facts.parquet").write_bytes(
        (run / "state/facts.parquet").read_bytes()[:-9]
    ),
    "a flipped byte in a page": lambda run: spoil(run / "state/facts.parquet", 40),
}


@pytest.mark.parametrize("loss", list(LOSSES)[::2])
def test_what_is_lost_of_the_last_run_is_made_again_from_the_lake(
    see: Callable[..., None], home: Path, loss: str
) -> None:
    see(1)
    see(2)
    run_pipeline()
    before = list(CheckpointFact.objects.values_list())
    LOSSES[loss](home / "runs" / Manifest.objects.get().attempt)
    see(3)
    assert "Everything is read again from the lake." in run_pipeline()
    assert facts() == [1, 2, 3]
    assert [
        row for row in CheckpointFact.objects.values_list() if row[0] in {one[0] for one in before}
    ] == before
    see(4)
    assert "read again" not in run_pipeline()
    assert facts() == [1, 2, 3, 4]
    assert DueWork.objects.get(key="spark/cycle").failures == 0


def test_it_is_said_on_the_pipeline_page_in_the_log_and_as_a_metric(
    see: Callable[..., None],
    home: Path,
    admin_client: Any,
    caplog: pytest.LogCaptureFixture,
) -> None:
    see(1)
    run_pipeline()
    assert "weir_lake_restarts 0" in admin_client.get("/metrics").content.decode()
    assert "read again" not in admin_client.get(reverse("pipeline")).content.decode()
    shutil.rmtree(home / "runs")
    see(2)
    run_pipeline()
    page = admin_client.get(reverse("pipeline")).content.decode()
    assert "lake read again" in page
    assert "There is no manifest at" in page
    assert "weir_lake_restarts 1" in admin_client.get("/metrics").content.decode()
    assert "Everything is read again from the lake." in caplog.text
    assert cycles().order_by("-id")[0].counts["restarted"] == "from the lake"


def test_two_losses_in_a_row(see: Callable[..., None], home: Path) -> None:
    for number in (1, 2, 3):
        see(number)
        run_pipeline()
        shutil.rmtree(home / "runs")
    see(4)
    run_pipeline()
    assert facts() == [1, 2, 3, 4]
    assert Manifest.objects.filter(restarted__isnull=False).count() == 3


@pytest.mark.parametrize("step", ["accept", "upsert"])
def test_killed_while_it_starts_again_it_goes_on_from_there(
    see: Callable[..., None],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: str,
) -> None:
    see(1)
    run_pipeline()
    shutil.rmtree(home / "runs")
    see(2)
    monkeypatch.setattr(loader, step, _die)
    with pytest.raises(KeyboardInterrupt):
        run_pipeline()
    monkeypatch.undo()
    run_pipeline()
    assert facts() == [1, 2]
    assert Manifest.objects.filter(restarted__isnull=False).count() == 1


def test_killed_and_lost_again_while_it_starts_again(
    see: Callable[..., None], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    see(1)
    run_pipeline()
    shutil.rmtree(home / "runs")
    see(2)
    monkeypatch.setattr(loader, "upsert", _die)
    with pytest.raises(KeyboardInterrupt):
        run_pipeline()
    monkeypatch.undo()
    shutil.rmtree(home / "runs")
    run_pipeline()
    assert facts() == [1, 2]


@pytest.mark.parametrize(
    "lose",
    [
        lambda run: shutil.rmtree(run / "tables"),
        lambda run: (run / "tables/checkpoint_fact/part-0.parquet").write_bytes(b"PAR1"),
        lambda run: spoil(run / "tables/checkpoint_fact/part-0.parquet", 30),
    ],
)
def test_tables_lost_before_they_were_loaded_are_read_again(
    see: Callable[..., None],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    lose: Callable[[Path], object],
) -> None:
    see(1)
    monkeypatch.setattr(loader, "upsert", _die)
    with pytest.raises(KeyboardInterrupt):
        run_pipeline()
    monkeypatch.undo()
    lose(home / "runs" / Manifest.objects.get().attempt)
    assert "It is dropped" in run_pipeline()
    assert facts() == [1]


def test_a_run_that_was_never_accepted_and_lost_its_tables_stands_in_nobodys_way(
    see: Callable[..., None],
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    see(1)
    monkeypatch.setattr(loader, "accept", _die)
    with pytest.raises(KeyboardInterrupt):
        run_pipeline()
    monkeypatch.undo()
    PipelineRun.objects.update(state="running")
    shutil.rmtree(next((home / "runs").iterdir()) / "tables")
    run_pipeline()
    assert facts() == [1]
    assert {row.state for row in Manifest.objects.all()} == {"loaded"}


def test_what_only_cannot_be_reached_is_not_taken_for_lost(
    see: Callable[..., None], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    see(1)
    run_pipeline()
    state = home / "runs" / Manifest.objects.get().attempt / "state/facts.parquet"
    state.rename(home / "kept")
    state.symlink_to(state)  # an OSError that is none of the file's: too many levels of links
    see(2)
    with pytest.raises(CommandError):
        run_pipeline()
    state.unlink()
    (home / "kept").rename(state)
    run_pipeline()
    assert facts() == [1, 2]
    assert not Manifest.objects.filter(restarted__isnull=False).exists()


def test_a_trigger_that_stood_in_for_another_goes_when_the_run_that_knew_of_it_is_lost(
    lease: Lease, tmp_path: Path
) -> None:
    """The lost run would have taken the stand-in back when the true trigger came."""
    later = AT + timedelta(minutes=1)

    def load(name: str, rows: list[dict[str, Any]], from_: int, to: int) -> None:
        path = write_run(
            tmp_path / name,
            {"checkpoint_fact": rows},
            from_={"checkpoints": from_},
            to={"checkpoints": to},
        )
        manifest = run_files.read_manifest(path)
        loader.load(loader.accept(manifest, path, None, lease), manifest, lease, lambda line: None)

    other_job = fact(7, trigger_time=later, job_id="b" * 32)
    load("first", [fact(7, trigger_time=later), fact(8), other_job], 0, 2)
    loader.start_over("start-1", "lost", known={"checkpoints": 2})
    load("whole", [fact(7), fact(8), fact(9), fact(9, trigger_time=later), other_job], 0, 3)
    kept = {
        (row.job_id[0], row.checkpoint_id, row.trigger_time) for row in CheckpointFact.objects.all()
    }
    assert kept == {("a", 7, AT), ("a", 8, AT), ("a", 9, AT), ("a", 9, later), ("b", 7, later)}


@pytest.mark.parametrize("known", [None, {"checkpoints": 9}])
def test_rows_of_a_lake_that_was_replaced_stay(
    lease: Lease, tmp_path: Path, known: dict[str, int] | None
) -> None:
    later = AT + timedelta(minutes=1)
    for name, rows, to in (("first", [fact(7, trigger_time=later)], 2), ("whole", [fact(7)], 3)):
        path = write_run(tmp_path / name, {"checkpoint_fact": rows}, to={"checkpoints": to})
        manifest = run_files.read_manifest(path)
        loader.load(loader.accept(manifest, path, None, lease), manifest, lease, lambda line: None)
        loader.start_over(f"start-{name}", "asked for", known=known)
    assert CheckpointFact.objects.count() == 2


def test_a_directory_that_cannot_be_removed_fails_no_cycle(
    see: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(keep: int) -> int:
        raise PermissionError(13, "Permission denied", "/runs/old")

    see(1)
    monkeypatch.setattr(run_dirs, "tidy", refuse)
    assert "the next cycle tries again" in run_pipeline()
    assert facts() == [1]
