"""Roll-ups beside the cycle, from the facts that the lake keeps to the rows, with a stand-in for
Spark that keeps its contract.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management.base import CommandError
from django.db import OperationalError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from ingest.lake.store import Lake
from ingest.records import Checkpoint, Observed
from spark_jobs import kept_facts
from spark_jobs.kept_facts import TABLE, UNFINISHED
from tests.webapp.pipeline.runs import AT
from tests.webapp.pipeline.site import ROOT
from tests.webapp.pipeline.test_cycle import _die, run_pipeline
from webapp.checkpoints.models import CheckpointRollup
from webapp.fleet.models import Cluster
from webapp.pipeline import due_work, rollups, tasks
from webapp.work import hints, keys, registry
from webapp.work.models import DueWork, PipelineRun, RolledUp
from webapp.work.perform import Performed, perform

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("home")]


def completed() -> list[int]:
    return list(
        CheckpointRollup.objects.order_by("period_start").values_list("completed_count", flat=True)
    )


def cycle() -> None:
    DueWork.objects.ensure(registry.intervals_s(), timezone.now())
    perform(keys.CYCLE, even_if_not_due=True)


def hinted_cycle() -> None:
    DueWork.objects.filter(key=keys.CYCLE).update(next_attempt_at=timezone.now())
    tasks.follow(keys.CYCLE)


def roll_up() -> str:
    return perform(rollups.KEY, even_if_not_due=True).state


def test_what_is_kept_is_summed_up_once(see: Callable[..., None]) -> None:
    see(1, 2)
    said = run_pipeline()
    assert "loaded checkpoint_rollup: 1 rows, 1 changed" in said
    assert completed() == [2]
    assert (roll_up(), RolledUp.objects.get().to_seq) == (Performed.IDLE, 1)
    see(3)
    cycle()
    assert (roll_up(), completed(), RolledUp.objects.get().to_seq) == (Performed.DONE, [3], 2)


def test_it_is_due_work_of_its_own_and_seen_on_the_pipeline_page(
    see: Callable[..., None], admin_client: Client
) -> None:
    see(1)
    counts = json.loads(run_pipeline("--json"))
    assert counts["rollups/checkpoints"] == {"from": 0, "to": 1, "rows": 1, "changed": 1}
    assert DueWork.objects.get(key="rollups/checkpoints").interval_s == 120
    page = admin_client.get(reverse("pipeline"), {"kind": "rollups"}).content.decode()
    assert (
        page.count(reverse("pipeline-run", args=(PipelineRun.objects.get(kind="rollups").pk,))) == 1
    )


def test_the_first_roll_ups_follow_the_first_cycle_at_once(
    see: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    hinted: list[str] = []
    monkeypatch.setattr(hints, "hint", lambda task, key, *_: hinted.append(key))
    DueWork.objects.ensure(registry.intervals_s(), timezone.now())
    assert roll_up() == Performed.IDLE  # before anything was loaded: due again in two minutes
    tasks.follow(keys.CYCLE)
    assert rollups.KEY not in hinted
    see(1)
    hinted_cycle()
    assert rollups.KEY in hinted
    assert perform(rollups.KEY).state == Performed.DONE
    hinted.clear()
    see(2)
    hinted_cycle()
    assert rollups.KEY not in hinted
    assert perform(rollups.KEY).state == Performed.HELD


def test_a_cycle_is_done_whatever_becomes_of_the_hint_at_its_roll_ups(
    see: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_database() -> bool:
        raise OperationalError("the database is gone")

    monkeypatch.setattr(rollups, "has_work", no_database)
    DueWork.objects.ensure(registry.intervals_s(), timezone.now())
    see(1)
    with pytest.raises(OperationalError):
        hinted_cycle()
    assert PipelineRun.objects.get(key=keys.CYCLE).state == PipelineRun.State.DONE


@pytest.mark.parametrize("step", ["run_files", "upsert"])
def test_killed_at_any_step_the_next_run_comes_to_the_same_rows(
    see: Callable[..., None], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    see(1)
    cycle()
    monkeypatch.setattr(
        *(rollups.run_files, "batches") if step == "run_files" else (rollups, "upsert"), _die
    )
    with pytest.raises(KeyboardInterrupt):
        roll_up()
    monkeypatch.undo()
    assert (completed(), RolledUp.objects.count()) == ([], 0)
    assert (roll_up(), completed()) == (Performed.DONE, [1])


def test_a_cycle_that_was_killed_before_it_kept_its_facts_is_caught_up_though_nothing_new_comes(
    see: Callable[..., None], home: Path
) -> None:
    (home / "no-keep").touch()
    see(1)
    run_pipeline()
    assert completed() == [1]
    see(2)
    cycle()
    assert (roll_up(), completed()) == (Performed.DONE, [2])
    assert (
        "which was killed before it did" in PipelineRun.objects.filter(kind="rollups")[0].log_tail
    )


def test_a_run_that_is_taken_up_in_parts_is_waited_for(
    see: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    see(1)
    cycle()
    amidst = kept_facts.taken(rollups.lake())._replace(cycle=UNFINISHED, run=5, part=1)
    with monkeypatch.context() as amid:
        amid.setattr(kept_facts, "taken", lambda _: amidst)
        assert roll_up() == Performed.IDLE
    assert roll_up() == Performed.DONE


def test_a_failed_job_is_said_and_tried_again(see: Callable[..., None], settings: Any) -> None:
    good = settings.SPARK_JOB
    see(1)
    cycle()
    settings.SPARK_JOB = "tests.webapp.pipeline.failing_spark.run_job"
    with pytest.raises(CommandError, match=r"rollups/checkpoints: .*no memory left"):
        run_pipeline()
    settings.SPARK_JOB = good
    assert (roll_up(), completed()) == (Performed.DONE, [1])


def test_kept_facts_that_were_moved_away_are_told_again(
    see: Callable[..., None], home: Path
) -> None:
    for number in (1, 2):
        see(number)
        run_pipeline()
    shutil.rmtree(home / "lake" / "derived")
    see(3)
    assert "Everything is read again from the lake." in run_pipeline()
    assert completed() == [3]


def test_the_daily_care_merges_kept_facts_and_forgets_those_older_than_their_roll_ups(
    home: Path,
) -> None:
    lake, now = Lake(str(home / "lake")), timezone.now()
    Cluster.objects.create(name="c", url="http://127.0.0.1:1")
    for number, (cluster, days) in enumerate((("c", 800), ("recording", 800), ("c", 1), ("c", 1))):
        at = now - timedelta(days=days)
        lake.append(
            [Observed(cluster, at, "rest", (Checkpoint("a" * 32, number, at, "COMPLETED"),))]
        )
        cycle()
    roll_up()
    perform(due_work.LAKE, even_if_not_due=True)
    left = lake.read(
        TABLE, where={}, from_time=now - timedelta(days=999), to_time=now, limit=9
    ).to_pylist()
    assert sorted((row["cluster"], row["checkpoint_id"]) for row in left) == [
        ("c", 2),
        ("c", 3),
        ("recording", 1),
    ]
    assert (
        "derived/checkpoint_facts: 2 files merged"
        in PipelineRun.objects.get(key=due_work.LAKE).log_tail
    )


def test_many_small_files_of_a_day_are_merged(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollups, "MOST_FILES", 2)
    lake, now = Lake(str(home / "lake")), timezone.now()
    for number in range(3):
        lake.append([Observed("c", now, "rest", (Checkpoint("a" * 32, number, now, "COMPLETED"),))])
        cycle()
    roll_up()
    assert len(lake.files(TABLE)) == 1
    assert (roll_up(), sum(completed())) == (Performed.IDLE, 3)


@pytest.mark.long
def test_kill_9_of_all_its_processes_leaves_nothing_to_mend(tmp_path: Path) -> None:
    home = tmp_path / "killed"
    home.mkdir()
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("WEIR_", "DJANGO_", "SPARK_"))
    }
    environment |= {
        "DJANGO_SETTINGS_MODULE": "tests.webapp.pipeline.site_settings",
        "WEIR_HOME": str(home),
    }
    command = [sys.executable, "manage.py", "run_pipeline", "--json"]

    def run() -> "subprocess.Popen[str]":
        return subprocess.Popen(
            command,
            env=environment,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    Lake(str(home / "lake")).append(
        [Observed("c", AT, "rest", (Checkpoint("a" * 32, 1, AT, "COMPLETED"),))]
    )
    (home / "hold-rollups").touch()
    killed = run()
    while not (home / "began-rollups").exists():
        assert killed.poll() is None
        time.sleep(0.05)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    (home / "hold-rollups").unlink()
    said, _ = run().communicate(timeout=240)
    counts = json.loads(said)
    assert (counts["spark/cycle"], counts["rollups/checkpoints"]["changed"]) == ({}, 1)
