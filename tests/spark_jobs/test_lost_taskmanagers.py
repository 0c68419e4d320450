"""TaskManagers that were lost, by lines of the JobManager that name no job: which jobs they
concern, over recordings of clusters.
"""

import json
import re
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from ingest.recordings.importer import import_recording
from spark_jobs.diagnosis import registry
from tests.diagnosis.jobs import LIMITS
from tests.spark_jobs.instances import RECORDINGS, SmallInstance
from tests.windows import recorded_windows

KILLED = "1.20.5/I"
STOPPED = ("1.20.5/E", "1.20.5/H", "1.20.5/J")
ALSO_STOPPED = ("1.20.5/A", "1.20.5/G", "1.20.5/M")
"""In these, TaskManagers are only stopped when the job has ended."""


def killed_in(recording: Path) -> list[str]:
    """Resource ids, in order: the process that had registered last under the number of the
    TaskManager that was killed.
    """
    [log] = recording.glob("logs/*standalonesession*.log")
    registered = [
        (datetime.fromisoformat(found[1].replace(",", ".") + "+00:00").timestamp(), found[2])
        for found in re.finditer(
            r"^(\S+ \S+) .*Registering TaskManager with ResourceID (\S+)",
            log.read_text(),
            re.MULTILINE,
        )
    ]
    killed = []
    for line in (recording / "events.jsonl").read_text().splitlines():
        event = json.loads(line)
        if event["event"] == "tm-kill-9":
            killed.append(
                [
                    name
                    for at, name in registered
                    if at < event["ts"] and name.startswith(f"flink-tm-{event['tm']}:")
                ][-1]
            )
    return killed


@pytest.fixture
def also_played(tmp_path: Path) -> SmallInstance:
    # no Spark in it
    instance = SmallInstance(None, tmp_path / "lost")  # type: ignore[arg-type]
    for name in ALSO_STOPPED:
        import_recording(RECORDINGS / name, name, instance.lake)
    instance.cycle()
    return instance


def lost_of(instance: SmallInstance, cluster: str) -> list[dict[str, Any]]:
    rows = [
        row
        for row in instance.rows("job_annotation").values()
        if row["cluster"] == cluster and row["kind"] == "taskmanager_lost"
    ]
    return sorted(rows, key=lambda row: row["at"])


def test_every_taskmanager_that_was_killed_is_an_annotation_of_its_job(
    whole: SmallInstance,
) -> None:
    rows = lost_of(whole, KILLED)
    assert [row["subject"] for row in rows] == killed_in(RECORDINGS / KILLED)
    assert len(rows) == 5
    assert all("no longer reachable" in json.loads(row["detail"])["reason"] for row in rows)


def test_taskmanagers_that_are_stopped_after_the_job_are_no_loss(whole: SmallInstance) -> None:
    assert [row for name in STOPPED for row in lost_of(whole, name)] == []


@pytest.mark.long
def test_nor_are_those_of_other_recordings(also_played: SmallInstance) -> None:
    assert [row for name in ALSO_STOPPED for row in lost_of(also_played, name)] == []


def test_a_loop_counts_every_killed_taskmanager_by_the_log_alone() -> None:
    window = recorded_windows("1.20.5-I")[-1]
    by_log = replace(
        window, failures=(), events=tuple(one for one in window.events if one.kind != "task_state")
    )
    [finding] = registry.diagnose(by_log, LIMITS, only=["restart.loop"]).findings
    assert finding.data["lost_taskmanagers"] == sorted(killed_in(RECORDINGS / KILLED))
