"""A real Flink whose incident begins and ends while Weir looks on: what it names, when, and when it
lets go.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.integration.running import RunningWeir, until
from tests.lab.cluster import Lab, start
from tests.migrated import home_with_database

pytestmark = [pytest.mark.integration, pytest.mark.long]

CLUSTER = "incidents"
CYCLES = 3
ROOT_OPEN = "rule = 'pressure.root' AND state = 'open'"


@dataclass
class Judged:
    """Findings, as ``manage.py findings`` printed them, at four moments."""

    before: list[dict[str, Any]] = field(default_factory=list)
    during: list[dict[str, Any]] = field(default_factory=list)
    after: list[dict[str, Any]] = field(default_factory=list)
    unreachable: list[dict[str, Any]] = field(default_factory=list)
    amplified: list[dict[str, Any]] = field(default_factory=list)
    cycles_until_named: int = -1
    health: dict[str, Any] = field(default_factory=dict)
    health_unreachable: dict[str, Any] = field(default_factory=dict)


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judged]:
    folder = tmp_path_factory.mktemp("causes")
    # Flink tells busy and back-pressured time over its last minute, so cycles are as long as they
    # are by default.
    cycles = {"WEIR_DEMO": "false", "WEIR_COLLECT_INTERVAL_S": "10", "WEIR_SPARK_INTERVAL_S": "30"}
    with (
        start("1.20.5", "switched", slot=2, folder=folder / "flink") as lab,
        RunningWeir(home_with_database(folder / "home"), **cycles) as weir,
    ):
        weir.wait_up()
        assert weir.sign_in(*weir.printed_sign_in())
        added = weir.manage("add_cluster", CLUSTER, lab.url, "--logs", lab.log_glob)
        assert added.returncode == 0, added.stdout + added.stderr
        judged = Judged()
        _watch(lab, weir, judged)
        yield judged


def _watch(lab: Lab, weir: RunningWeir, judged: Judged) -> None:
    # Two minutes of quiet first: the larger part of a window must be seen before anything can be
    # wrong with it.
    until(
        lambda: weir.rows("SELECT 1 FROM pressure_pressurewindow WHERE records_in_per_s > 0"),
        300,
        "records that flow",
    )
    judged.before = _findings(weir, lab.job_id)
    began = datetime.now(UTC)
    lab.switch.touch()
    until(lambda: _any(weir, ROOT_OPEN, lab.job_id), 240, "an origin's being named")
    judged.cycles_until_named = _cycles_since(weir, began)
    judged.during = _findings(weir, lab.job_id)
    judged.health = _health(weir, lab.job_id)
    other = lab.play("amplified")
    # A window is judged anew as its last data come in. The fault lasts until a second one was
    # judged by it, so that an end within the very window that first named it cannot take the
    # finding back.
    until(
        lambda: _any(weir, f"{ROOT_OPEN} AND last_seen > first_seen", lab.job_id),
        240,
        "the origin's being seen in a second window",
    )
    lab.switch.unlink()
    until(lambda: _any(weir, ROOT_OPEN, other), 300, "the sink's being named")
    judged.amplified = _findings(weir, other)
    until(lambda: not _any(weir, ROOT_OPEN, lab.job_id), 480, "the origin's finding being closed")
    judged.after = _findings(weir, lab.job_id)
    lab.kill_jobmanager()
    until(
        lambda: _any(weir, "rule = 'collect.blind'"), 180, "the cluster's being called unreachable"
    )
    until(
        lambda: _health(weir, lab.job_id)["health"] is None,
        60,
        "the health's being unknown",
        every_s=1,
    )
    judged.unreachable = _findings(weir)
    judged.health_unreachable = _health(weir, lab.job_id)


def _any(weir: RunningWeir, which: str, job_id: str = "") -> bool:
    """Whether the database holds such a finding: asked often, and at once; what is judged is what a
    person is told.
    """
    of_job = f" AND job_id = '{job_id}'" if job_id else ""
    return bool(
        weir.rows(f"SELECT 1 FROM findings_finding WHERE cluster = '{CLUSTER}' AND {which}{of_job}")
    )


def _findings(weir: RunningWeir, job_id: str = "") -> list[dict[str, Any]]:
    told = weir.manage("findings", "--cluster", CLUSTER)
    assert told.returncode == 0, told.stderr
    return [
        one for one in map(json.loads, told.stdout.splitlines()) if job_id in ("", one["job_id"])
    ]


def _roots(findings: list[dict[str, Any]], state: str) -> list[str]:
    return [
        one["subject"]
        for one in findings
        if one["rule"] == "pressure.root" and one["state"] == state
    ]


def _cycles_since(weir: RunningWeir, began: datetime) -> int:
    """Spark runs that began after the incident and brought something."""
    query = (
        "SELECT count(*) FROM work_pipelinerun WHERE key LIKE 'spark%' AND started_at > "
        f"'{began:%Y-%m-%d %H:%M:%S}'"
    )
    return int(weir.rows(query)[0][0])


def _health(weir: RunningWeir, job_id: str) -> dict[str, Any]:
    (job,) = (
        one
        for one in weir.api(f"/api/v1/jobs/?cluster={CLUSTER}")["results"]
        if one["job_id"] == job_id
    )
    return {"health": job["health"], "state": job["health_state"]}


def test_a_quiet_job_has_no_finding_above_info(judged: Judged) -> None:
    assert [one for one in judged.before if one["severity"] != "info"] == []


def test_the_origin_is_named_within_three_cycles(judged: Judged) -> None:
    assert 0 < judged.cycles_until_named <= CYCLES


def test_the_origin_is_the_slow_operator_and_nothing_else(judged: Judged) -> None:
    assert _roots(judged.during, "open") == ["enrich"]


def test_health_falls_with_the_finding(judged: Judged) -> None:
    assert judged.health["health"] < 100


def test_the_finding_is_closed_after_the_incident(judged: Judged) -> None:
    assert _roots(judged.after, "open") == []
    assert _roots(judged.after, "closed") == ["enrich"]


def test_behind_an_amplifying_operator_the_slow_sink_is_the_origin(judged: Judged) -> None:
    assert _roots(judged.amplified, "open") == ["sink"]


def test_an_operator_held_by_its_sink_is_not_called_outbound(judged: Judged) -> None:
    assert "pressure.outbound" not in {one["rule"] for one in judged.amplified}


def test_a_lost_jobmanager_makes_the_cluster_unreachable(judged: Judged) -> None:
    assert [one["state"] for one in judged.unreachable if one["rule"] == "collect.blind"] == [
        "open"
    ]


def test_with_its_jobmanager_lost_the_health_is_unknown(judged: Judged) -> None:
    assert judged.health_unreachable["health"] is None
    assert judged.health_unreachable["state"] == "unknown"
