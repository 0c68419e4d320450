"""Work that was left over is caught up with in slices, without Spark where that does not start."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from ingest.lake.store import Lake
from ingest.records import Checkpoint, Observed
from tests.webapp.pipeline.runs import AT
from tests.weir_settings import WeirSettings
from webapp.checkpoints.models import CheckpointFact
from webapp.pipeline import cycle, loader
from webapp.work.models import DueWork, Manifest, PipelineRun
from webapp.work.perform import Performed, perform
from webapp.work.spark_job import SparkFailed

pytestmark = pytest.mark.django_db(transaction=True)
COMMITS, ROWS = 5, 20
NO_SPARK = "sc://127.0.0.1:1"


@pytest.fixture(autouse=True)
def _without_spark(
    home: Path, weir: WeirSettings, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs are real, and nobody starts Spark for them."""
    settings.SPARK_JOB = "spark_jobs.job.run_job"
    monkeypatch.setenv("SPARK_REMOTE", NO_SPARK)
    weir(most_rows_without_spark=2 * ROWS + 5)
    DueWork.objects.ensure({"spark/cycle": 8}, timezone.now())


@pytest.fixture
def commit(home: Path) -> Callable[[int], None]:
    def commit(number: int) -> None:
        at = AT + timedelta(seconds=number)
        records = tuple(
            Checkpoint("a" * 32, number * ROWS + place, at, "COMPLETED") for place in range(ROWS)
        )
        Lake(str(home / "lake")).append([Observed("c", at, "rest", records)])

    return commit


def run() -> PipelineRun:
    assert perform("spark/cycle", even_if_not_due=True).state == Performed.DONE
    return PipelineRun.objects.filter(key="spark/cycle").latest("id")


def facts() -> int:
    return CheckpointFact.objects.count()


def test_what_spark_could_not_be_started_for_is_caught_up_with_in_slices(
    commit: Callable[[int], None],
) -> None:
    for number in range(COMMITS):
        commit(number)
    with pytest.raises(SparkFailed):
        perform("spark/cycle", even_if_not_due=True)
    assert [(run().counts.get(cycle.LEFT), facts()) for _ in range(2)] == [
        (3, 2 * ROWS),
        (1, 4 * ROWS),
    ]
    assert DueWork.objects.get().next_attempt_at <= timezone.now(), "a rest between two slices"
    commit(COMMITS)
    assert (run().counts.get(cycle.LEFT), facts()) == (None, (COMMITS + 1) * ROWS)
    ranges = [
        (row.from_seq.get("checkpoints", 0), row.to_seq["checkpoints"])
        for row in Manifest.objects.order_by("id")
    ]
    assert ranges == [(0, 2), (2, 4), (4, 6)]


def test_one_commit_that_alone_is_too_large_is_worked_on_all_the_same(
    commit: Callable[[int], None], weir: WeirSettings
) -> None:
    weir(most_rows_without_spark=ROWS - 1)
    commit(0)
    with pytest.raises(SparkFailed):
        perform("spark/cycle", even_if_not_due=True)
    run()
    assert facts() == ROWS


def test_after_a_cycle_that_was_killed_the_next_takes_a_slice(
    commit: Callable[[int], None],
) -> None:
    for number in range(COMMITS):
        commit(number)
    PipelineRun.objects.create(
        kind="spark", key="spark/cycle", attempt="killed", started_at=timezone.now()
    )
    assert run().counts[cycle.LEFT] == 3


def test_killed_before_a_slice_is_loaded_it_is_loaded_first_and_the_rest_follows(
    commit: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(COMMITS):
        commit(number)
    PipelineRun.objects.create(
        kind="spark", key="spark/cycle", attempt="killed", started_at=timezone.now()
    )
    monkeypatch.setattr(loader, "upsert", _die)
    with pytest.raises(KeyboardInterrupt):
        perform("spark/cycle", even_if_not_due=True)
    monkeypatch.undo()
    monkeypatch.setenv("SPARK_REMOTE", NO_SPARK)
    for _ in range(2):
        run()
    assert (
        facts() == COMMITS * ROWS
        and PipelineRun.objects.latest("id").counts.get(cycle.LEFT) is None
    )


def test_spark_is_asked_again_when_its_failure_is_long_ago(commit: Callable[[int], None]) -> None:
    for number in range(COMMITS):
        commit(number)
    long_ago = timezone.now() - 2 * cycle.SLICES_FOR
    PipelineRun.objects.create(
        kind="spark",
        key="spark/cycle",
        attempt="a",
        state="failed",
        started_at=long_ago,
        finished_at=long_ago,
    )
    with pytest.raises(SparkFailed):
        perform("spark/cycle", even_if_not_due=True)


def _die(*args: object) -> None:
    raise KeyboardInterrupt
