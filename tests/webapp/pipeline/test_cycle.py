"""A Spark cycle from the lake to the rows, with a stand-in for Spark that keeps its contract."""

import json
import threading
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db.models import QuerySet
from django.utils import timezone

from ingest.lake import derived_commits
from ingest.lake.store import Lake
from ingest.records import Job, LogRecord, Observed
from spark_jobs import cycle_request
from tests.webapp.pipeline.runs import AT
from tests.webapp.storage.builders import unprotected_fleet
from tests.weir_settings import WeirSettings
from webapp.checkpoints.models import CheckpointFact
from webapp.findings.models import ThresholdOverride
from webapp.pipeline import loader
from webapp.work.models import DueWork, Manifest, PipelineRun
from webapp.work.perform import Performed, perform

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("home")]


def run_pipeline(*options: str) -> str:
    said = StringIO()
    call_command("run_pipeline", *options, stdout=said)
    return said.getvalue()


def cycles() -> QuerySet[PipelineRun]:
    return PipelineRun.objects.filter(key="spark/cycle")


def facts() -> list[int]:
    return sorted(CheckpointFact.objects.values_list("checkpoint_id", flat=True))


def test_cycles_begin_an_interval_apart_however_long_they_take(
    see: Callable[..., None], weir: WeirSettings
) -> None:
    weir(spark_interval_s=3600)
    see(1)
    run_pipeline()
    row = DueWork.objects.get(key="spark/cycle")
    assert (
        row.last_started_at and row.last_finished_at and row.last_finished_at > row.last_started_at
    )
    assert row.next_attempt_at - row.last_started_at == timedelta(seconds=row.interval_s)


def test_the_rest_after_a_cycle_that_took_long_is_bounded(
    see: Callable[..., None], home: Path, weir: WeirSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    weir(spark_interval_s=3)
    monkeypatch.setattr("webapp.pipeline.due_work.CYCLE_RESTS_AT_MOST", timedelta(seconds=1))
    see(1)
    (home / "hold").touch()
    threading.Timer(4, (home / "hold").unlink).start()
    run_pipeline()
    row = DueWork.objects.get(key="spark/cycle")
    assert row.last_finished_at and row.next_attempt_at - row.last_finished_at == timedelta(
        seconds=1
    )


def test_a_cycle_that_finds_nothing_new_stays_due_and_starts_no_spark(
    see: Callable[..., None], settings: Any
) -> None:
    see(1)
    run_pipeline()
    DueWork.objects.update(next_attempt_at=timezone.now())
    settings.SPARK_JOB = "tests.webapp.pipeline.failing_spark.run_job"
    assert perform("spark/cycle").state == Performed.IDLE
    assert DueWork.objects.due(timezone.now()).exists()


def test_with_a_long_interval_it_looks_no_more_often_than_that(
    home: Path, weir: WeirSettings
) -> None:
    weir(spark_interval_s=3600)
    DueWork.objects.ensure({"spark/cycle": 3600}, timezone.now())
    assert perform("spark/cycle").state == Performed.IDLE
    assert not DueWork.objects.due(timezone.now()).exists()


def test_what_only_says_that_all_is_as_before_waits_for_half_a_minute(
    see: Callable[..., None], home: Path
) -> None:
    see(1)
    run_pipeline()
    Lake(str(home / "lake")).append([Observed("c", AT, "rest", (Job("a" * 32, "job", "RUNNING"),))])
    DueWork.objects.update(next_attempt_at=timezone.now())
    assert perform("spark/cycle").state == Performed.IDLE
    Manifest.objects.update(loaded_at=timezone.now() - timedelta(seconds=30))
    assert perform("spark/cycle").state == Performed.DONE


def test_what_somebody_waits_for_does_not_and_takes_the_rest_along(
    see: Callable[..., None], home: Path
) -> None:
    see(1)
    run_pipeline()
    Lake(str(home / "lake")).append([Observed("c", AT, "rest", (Job("a" * 32, "job", "RUNNING"),))])
    see(2)
    DueWork.objects.update(next_attempt_at=timezone.now())
    assert perform("spark/cycle").state == Performed.DONE
    newest = loader.last_loaded()
    assert newest and newest.to_seq["jobs"] == 1


def test_who_asks_by_hand_waits_for_nothing(see: Callable[..., None], home: Path) -> None:
    see(1)
    run_pipeline()
    Lake(str(home / "lake")).append([Observed("c", AT, "rest", (Job("a" * 32, "job", "RUNNING"),))])
    assert "new in the lake: jobs 1 commits" in run_pipeline()


def test_what_spark_itself_read_makes_a_cycle_run_also_after_one_of_an_earlier_version(
    see: Callable[..., None], home: Path
) -> None:
    see(1)
    run_pipeline()
    Manifest.objects.update(to_seq={"checkpoints": 1})
    assert "new in the lake" not in run_pipeline()
    line = LogRecord("jm.log", AT, "WARN", "a.b.C", "x", "0" * 32, 0, "jm.log", 0)
    derived_commits.append(Lake(str(home / "lake")), [Observed("c", AT, "log", (line,))])
    assert "new in the lake: derived/log_records 1 commits" in run_pipeline()
    assert "new in the lake" not in run_pipeline()


def test_what_is_new_is_processed_once(see: Callable[..., None]) -> None:
    see(1, 2)
    assert "loaded checkpoint_fact: 2 rows" in run_pipeline()
    assert "nothing new" in run_pipeline()
    see(2, 3)
    assert "loaded checkpoint_fact: 2 rows" in run_pipeline()
    assert facts() == [1, 2, 3]
    assert [run.state for run in cycles()] == ["done", "done"]


def test_settings_and_recovery_points_of_a_whole_fleet_reach_the_job(
    see: Callable[..., None], home: Path
) -> None:
    """Linux takes 128 KiB of one argument: a cycle that got them there never started again."""
    fleet = [f"{number:032x}" for number in range(5_000)]
    ThresholdOverride.objects.bulk_create(
        ThresholdOverride(
            key="checkpoint.expired.look_back_s",
            value=number + 600,
            cluster="prod-eu",
            job_id=fleet[number],
        )
        for number in range(1_300)
    )
    unprotected_fleet(fleet)
    see(1)
    run_pipeline()
    assert facts() == [1]
    told = cycle_request.read(f"{home}/runs/{cycles().get().attempt}/request.json")
    for number, job_id in enumerate(fleet[:1_300]):
        limits = told.limits("prod-eu", job_id)
        assert limits["checkpoint.expired.look_back_s"] == number + 600
        assert limits != told.limits("prod-eu", fleet[1_300])
    assert all(told.recovery_point("prod-eu", job_id) for job_id in fleet)
    assert not told.recovery_point("prod-eu", "e" * 32)


def test_a_run_says_what_it_did(see: Callable[..., None]) -> None:
    see(1)
    counts = json.loads(run_pipeline("--json"))["spark/cycle"]
    assert counts["rows"] == {"checkpoint_fact": 1}
    run = cycles().get()
    assert "stand-in began" in run.log_tail
    assert run.duration_ms is not None


def test_a_spark_job_that_fails_is_said_with_its_last_words_and_tried_again(
    see: Callable[..., None], settings: Any
) -> None:
    see(1)
    good = settings.SPARK_JOB
    settings.SPARK_JOB = "tests.webapp.pipeline.failing_spark.run_job"
    with pytest.raises(CommandError, match="MemoryError: no memory left"):
        run_pipeline()
    assert PipelineRun.objects.get().state == "failed"
    assert DueWork.objects.get(key="spark/cycle").failures == 1
    settings.SPARK_JOB = good
    run_pipeline()
    assert facts() == [1]


def test_a_spark_job_that_took_too_long_is_said_and_tried_again(
    see: Callable[..., None], settings: Any
) -> None:
    see(1)
    settings.SPARK_JOB = "tests.webapp.pipeline.failing_spark.run_too_long"
    with pytest.raises(CommandError, match="did not end in time"):
        run_pipeline()
    assert DueWork.objects.get(key="spark/cycle").failures == 1


def test_a_complete_run_whose_process_died_before_it_was_loaded_is_loaded_without_spark(
    see: Callable[..., None], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from webapp.pipeline import loader

    see(1)
    monkeypatch.setattr(loader, "accept", _die)
    with pytest.raises(KeyboardInterrupt):
        run_pipeline()
    monkeypatch.undo()
    PipelineRun.objects.update(state="running")  # as a killed process leaves it
    settings.SPARK_JOB = "tests.webapp.pipeline.rollups_only_spark.run_job"
    assert "it is loaded" in run_pipeline()
    assert facts() == [1]


def _die(*args: object) -> None:
    raise KeyboardInterrupt


def test_a_run_half_loaded_is_loaded_again_without_spark(
    see: Callable[..., None], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from webapp.pipeline import loader

    see(1)
    monkeypatch.setattr(loader, "upsert", _die)
    with pytest.raises(KeyboardInterrupt):
        run_pipeline()
    assert Manifest.objects.get().state == "written"
    monkeypatch.undo()
    settings.SPARK_JOB = "tests.webapp.pipeline.rollups_only_spark.run_job"
    run_pipeline()
    assert facts() == [1]


def test_a_run_directory_that_vanished_is_read_again_from_the_lake(
    see: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    from webapp.pipeline import loader

    see(1)
    monkeypatch.setattr(loader, "upsert", _die)
    with pytest.raises(KeyboardInterrupt):
        run_pipeline()
    monkeypatch.undo()
    Path(Manifest.objects.get().path).unlink()
    assert "It is dropped" in run_pipeline()
    assert facts() == [1]


def test_a_lake_that_lost_commits_is_refused_until_somebody_says_so(
    see: Callable[..., None], home: Path
) -> None:
    see(1)
    see(2)
    run_pipeline()
    (home / "lake").rename(home / "old")
    see(3)
    with pytest.raises(CommandError, match="fewer commits than were loaded"):
        run_pipeline()
    run_pipeline("--from-start")
    assert facts() == [1, 2, 3]


def test_old_run_directories_go_and_foreign_ones_stay(
    see: Callable[..., None], home: Path, weir: WeirSettings
) -> None:
    weir(keep_runs=1)
    for name in ("spark-20200101T000000-00000000", "precious"):
        (home / "runs" / name).mkdir(parents=True)
    see(1)
    run_pipeline()
    left = {path.name for path in (home / "runs").iterdir() if not path.name.startswith("rollups-")}
    assert left == {"precious", Manifest.objects.get().attempt}
