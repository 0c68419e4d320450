"""A real Flink, seen live by a whole Weir: its facts, a savepoint, its log, and its end."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.integration.running import RunningWeir, until
from tests.lab.cluster import Lab, LabFailed, start
from tests.migrated import home_with_database

pytestmark = [pytest.mark.integration, pytest.mark.long]

CLUSTER = "live-lab"


@dataclass
class Watched:
    """What Flink said at the end, and what Weir served then; afterwards the JobManager was
    killed.
    """

    job_id: str = ""
    flink: dict[int, dict[str, Any]] = field(default_factory=dict)
    savepoint: str = ""
    facts: dict[int, dict[str, Any]] = field(default_factory=dict)
    annotations: list[tuple[Any, ...]] = field(default_factory=list)
    declines: list[tuple[Any, ...]] = field(default_factory=list)
    pressure_windows: int = 0
    ended_status: str = ""
    status_before: str = ""
    status_after: str = ""
    fleet_after: str = ""
    logs: str = ""


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp("live")
    quick = {"WEIR_DEMO": "false", "WEIR_COLLECT_INTERVAL_S": "3", "WEIR_SPARK_INTERVAL_S": "10"}
    with (
        start("1.20.5", "declined", slot=4, folder=folder / "flink") as lab,
        RunningWeir(home_with_database(folder / "home"), **quick) as weir,
    ):
        watched = Watched(lab.job_id)
        weir.wait_up()
        assert weir.sign_in(*weir.printed_sign_in())
        added = weir.manage("add_cluster", CLUSTER, lab.url, "--logs", lab.log_glob)
        assert added.returncode == 0, added.stdout + added.stderr
        _watch(lab, weir, watched)
        _kill(lab, weir, watched)
        watched.logs = "\n".join(
            log.read_text(errors="replace") for log in (folder / "home" / "logs").rglob("*.log*")
        )
        yield watched


def _watch(lab: Lab, weir: RunningWeir, watched: Watched) -> None:
    """A job's life from the moment Weir sees it run to its end."""
    until(lambda: _status(weir, lab.job_id) == "RUNNING", 600, "the job's running", every_s=1)
    seen_from = lab.checkpoints()["counts"]["total"]
    watched.savepoint = _savepoint(lab)
    lab.wait_for(lambda account: account["counts"]["total"] >= seen_from + 12, 180)
    lab.cancel()
    account = lab.checkpoints()
    watched.flink = {check["id"]: check for check in account["history"]}
    until(
        lambda: _seen_by_rest(weir, lab.job_id) >= set(watched.flink),
        900,
        "what Flink says at the end",
    )
    # The cycle that brought them may still be loading its other tables.
    assert weir.manage("run_pipeline").returncode == 0
    columns = (
        "checkpoint_id",
        "outcome",
        "is_savepoint",
        "state_bytes",
        "checkpointed_bytes",
        "end_to_end_ms",
        "subtasks",
        "acknowledged",
    )
    query = (
        f"SELECT {', '.join(columns)} FROM checkpoints_checkpointfact WHERE cluster = '{CLUSTER}'"
    )
    watched.facts = {row[0]: dict(zip(columns, row, strict=True)) for row in weir.rows(query)}
    watched.annotations = weir.rows(
        f"SELECT kind, subject, label FROM fleet_jobannotation WHERE cluster = '{CLUSTER}'"
    )
    watched.declines = weir.rows(
        "SELECT checkpoint_id, vertex_name, subtask, attempt, container, host, detail FROM "
        f"fleet_logevent WHERE cluster = '{CLUSTER}' AND kind = 'checkpoint_declined'"
    )
    watched.pressure_windows = weir.rows(
        f"SELECT count(*) FROM pressure_pressurewindow WHERE cluster = '{CLUSTER}'"
    )[0][0]


def _kill(lab: Lab, weir: RunningWeir, watched: Watched) -> None:
    """A second job that is running when its JobManager dies."""
    lab.submit()
    until(
        lambda: _status(weir, lab.job_id) == "RUNNING", 600, "the second job's running", every_s=1
    )
    watched.status_before = _status(weir, lab.job_id)
    lab.kill_jobmanager()
    until(
        lambda: _status(weir, lab.job_id) != "RUNNING",
        300,
        "a change of the job's status",
        every_s=1,
    )
    watched.status_after = _status(weir, lab.job_id)
    # The list has the newest attempt of each job alone, and both attempts are of one job.
    watched.ended_status = weir.api(f"/api/v1/jobs/{CLUSTER}/{watched.job_id}/")["status"]
    unreachable = (
        f"SELECT 1 FROM fleet_cluster WHERE name = '{CLUSTER}' AND unreachable_since IS NOT NULL"
    )
    until(lambda: weir.rows(unreachable), 180, "the cluster's being unreachable")
    watched.fleet_after = weir.page("/")[2]


def _savepoint(lab: Lab) -> str:
    """Every third id is declined, savepoints included: the second try has another id."""
    for _ in range(3):
        try:
            return lab.savepoint()
        except LabFailed:
            time.sleep(1)
    raise AssertionError("no savepoint succeeded")


def _seen_by_rest(weir: RunningWeir, job_id: str) -> set[int]:
    """Logs tell of a checkpoint too, but not all that REST tells."""
    query = (
        f"SELECT checkpoint_id FROM checkpoints_checkpointfact WHERE job_id = '{job_id}' AND "
        "final AND sources LIKE 'rest%'"
    )
    return {row[0] for row in weir.rows(query)}


def _status(weir: RunningWeir, job_id: str) -> str:
    """As the API tells it; empty where it knows no such job."""
    jobs = weir.api(f"/api/v1/jobs/?cluster={CLUSTER}")["results"]
    return next((str(job["status"]) for job in jobs if job["job_id"] == job_id), "")


def test_every_checkpoint_that_flink_remembers_is_there_with_its_outcome(watched: Watched) -> None:
    for number, check in watched.flink.items():
        # What fails is declined, as this incident wants it; the job's end may have aborted the last
        # one.
        failed = {"declined"} if number < max(watched.flink) else {"declined", "aborted"}
        expected = {"completed"} if check["status"] == "COMPLETED" else failed
        assert watched.facts[number]["outcome"] in expected, number


def test_none_is_missing_from_the_first_on(watched: Watched) -> None:
    assert sorted(watched.facts)[: max(watched.flink)] == list(range(1, max(watched.flink) + 1))


def test_sizes_durations_and_subtasks_are_those_flink_reported(watched: Watched) -> None:
    for number, check in watched.flink.items():
        if check["status"] != "COMPLETED":
            continue
        fact = watched.facts[number]
        assert fact["state_bytes"] == check["state_size"]
        assert fact["checkpointed_bytes"] == check["checkpointed_size"]
        assert fact["end_to_end_ms"] == check["end_to_end_duration"]
        assert fact["subtasks"] == check["num_subtasks"]
        assert fact["acknowledged"] == check["num_acknowledged_subtasks"]
        assert bool(fact["is_savepoint"]) == check["is_savepoint"]


def test_the_savepoint_is_an_annotation(watched: Watched) -> None:
    assert "savepoint" in {kind for kind, _subject, _label in watched.annotations}


def test_each_decline_names_subtask_attempt_container_host_and_exception(watched: Watched) -> None:
    declined = {number for number, fact in watched.facts.items() if fact["outcome"] == "declined"}
    assert declined
    assert {row[0] for row in watched.declines} >= declined
    for _number, vertex, subtask, attempt, container, host, detail in watched.declines:
        assert (vertex, subtask, attempt) == ("enrich", 0, 0)
        assert host in ("flink-tm-1", "flink-tm-2")
        assert container.startswith(host)
        assert "lab: the disk refuses the snapshot" in detail


def test_buffer_pressure_is_there(watched: Watched) -> None:
    assert watched.pressure_windows >= 4


def test_the_job_ran_while_flink_did(watched: Watched) -> None:
    assert watched.status_before == "RUNNING"


def test_with_its_jobmanager_killed_the_job_is_unknown_never_healthy(watched: Watched) -> None:
    assert watched.status_after == "UNKNOWN"
    assert "unknown" in watched.fleet_after.lower()


def test_a_job_that_had_ended_before_keeps_its_end(watched: Watched) -> None:
    assert watched.ended_status == "CANCELED"


def test_the_database_was_never_locked(watched: Watched) -> None:
    assert "database is locked" not in watched.logs
