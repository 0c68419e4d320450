"""TaskManagers that were lost, by lines of the JobManager that name no job: which jobs they
concern, over recordings of clusters.
"""

import json
import re
from collections.abc import Iterator
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
OTHERS = ("1.20.5/A", "1.20.5/E", "1.20.5/G", "1.20.5/H", "1.20.5/J", "1.20.5/M")
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


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallInstance]:
    # no Spark in it
    instance = SmallInstance(None, tmp_path_factory.mktemp("lost"))  # type: ignore[arg-type]
    for name in (KILLED, *OTHERS):
        import_recording(RECORDINGS / name, name, instance.lake)
    instance.cycle()
    yield instance


def lost_of(instance: SmallInstance, cluster: str) -> list[dict[str, Any]]:
    rows = [
        row
        for row in instance.rows("job_annotation").values()
        if row["cluster"] == cluster and row["kind"] == "taskmanager_lost"
    ]
    return sorted(rows, key=lambda row: row["at"])


@pytest.mark.long
def test_every_taskmanager_that_was_killed_is_an_annotation_of_its_job(
    played: SmallInstance,
) -> None:
    rows = lost_of(played, KILLED)
    assert [row["subject"] for row in rows] == killed_in(RECORDINGS / KILLED)
    assert len(rows) == 5
    assert all("no longer reachable" in json.loads(row["detail"])["reason"] for row in rows)


@pytest.mark.parametrize("name", OTHERS)
def test_a_taskmanager_that_is_stopped_after_the_job_is_no_loss(
    played: SmallInstance, name: str
) -> None:
    assert lost_of(played, name) == []


def test_a_loop_counts_every_killed_taskmanager_by_the_log_alone() -> None:
    window = recorded_windows("1.20.5-I")[-1]
    by_log = replace(
        window, failures=(), events=tuple(one for one in window.events if one.kind != "task_state")
    )
    [finding] = registry.diagnose(by_log, LIMITS, only=["restart.loop"]).findings
    assert finding.data["lost_taskmanagers"] == sorted(killed_in(RECORDINGS / KILLED))
