"""Audit logs of a NameNode from declared files to page, API and command: the calls that a real Flink made, beside what was expected."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.urls import reverse

from ingest.lake.store import Lake
from ingest.shard_collector import collect_shard
from tests.audit_lines import NAMES, audit_text
from tests.played_calls import calls, calls_by_checkpoint
from tests.webapp.builders import T0
from tests.webapp.filesystem_calls.test_recorded import PLAYED, job  # noqa: F401  # a fixture
from webapp.filesystem_calls.fleet_calls import fleet_calls
from webapp.fleet.models import Cluster

pytestmark = pytest.mark.django_db
AUDITED = {"create", "rename", "delete", "getFileInfo", "mkdirs"}


@pytest.fixture
def nn(job, tmp_path):  # noqa: F811  # the fixture
    """A cluster on which the NameNode's audit log is declared; it has been collected once."""
    file = tmp_path / "hdfs-audit.log"
    stranger = [call._replace(path="/user/hive/t") for call in calls(PLAYED) if call.kind == "mkdirs"]
    file.write_bytes(audit_text(calls(PLAYED)) + audit_text(stranger, address="10.0.0.2"))
    cluster = Cluster(name="nn", hdfs_audit_globs=[str(file)], log_globs=[str(tmp_path / "none*.log")])
    cluster.full_clean()
    cluster.save()
    last = datetime.fromtimestamp(calls(PLAYED)[-1].at_ms / 1000, UTC)
    collect_shard([cluster.source()], {}, Lake(str(tmp_path / "audits" / "lake")), at=lambda: last)
    return cluster


def test_calls_of_a_job_stand_beside_those_that_were_expected(viewer, job, nn):  # noqa: F811
    at = (job.cluster, job.job_id)
    observed = viewer.get(reverse("api-job-calls", args=at)).json()["observed"]
    start, end = (datetime.fromisoformat(observed[name]).timestamp() for name in ("start", "end"))
    made = Counter(NAMES[call.kind] for call in calls(PLAYED) if call.kind in AUDITED and start <= call.at_ms // 1000 < end)
    assert {one["cmd"]: one["calls"] for one in observed["kinds"] if one["calls"]} == made
    assert observed["calls"] == sum(made.values())
    triggers = [call for call in calls(PLAYED) if call.kind == "mkdirs" and "/chk-" in call.path and start <= call.at_ms // 1000 < end]
    assert abs(observed["checkpoints"] - len(triggers)) <= 1
    last = max(number for number, of in calls_by_checkpoint(PLAYED).items() if of["rename"])
    written = sum(calls_by_checkpoint(PLAYED)[last][kind] for kind in ("create", "rename", "getFileInfo", "mkdirs"))
    assert observed["expected_per_checkpoint"] == written + calls_by_checkpoint(PLAYED)[last]["create"] + 1
    assert observed["callers"] == {"10.0.0.1": observed["calls"]}
    page = viewer.get(reverse("filesystem-calls-tables", args=at)).content.decode()
    assert f"{observed['expected_per_checkpoint']} expected of kinds that an audit log has" in page
    out = StringIO()
    call_command("filesystem_calls", job.cluster, job.name, stdout=out)
    assert "Audit log: " in out.getvalue()


def test_the_fleet_page_shows_who_calls_and_who_bursts(viewer, job, nn):  # noqa: F811
    now = datetime.fromtimestamp(calls(PLAYED)[-1].at_ms / 1000, UTC) + timedelta(seconds=30)
    found = fleet_calls(now)
    (log,) = found.observed.logs
    start = found.start.timestamp()
    audited = [call for call in calls(PLAYED) if call.kind in AUDITED and start <= call.at_ms // 1000 <= found.end.timestamp()]
    seconds = Counter(call.at_ms // 1000 for call in audited)
    strangers = Counter(call.at_ms // 1000 for call in audited if call.kind == "mkdirs")
    both = seconds + strangers
    assert (log.calls, log.peak, log.no_job) == (sum(both.values()), max(both.values()), sum(strangers.values()))
    assert [(one.address, one.calls, one.peak) for one in log.callers] == [
        ("10.0.0.1", sum(seconds.values()), max(seconds.values())),
        ("10.0.0.2", sum(strangers.values()), max(strangers.values())),
    ]
    assert [(one.job_id, one.calls) for one in log.jobs] == [(job.job_id, sum(seconds.values()))]


def test_page_api_and_command_say_the_same_of_audit_logs(viewer, job, nn, monkeypatch):  # noqa: F811
    now = datetime.fromtimestamp(calls(PLAYED)[-1].at_ms / 1000, UTC) + timedelta(seconds=30)
    monkeypatch.setattr("django.utils.timezone.now", lambda: now)
    document = viewer.get(reverse("api-filesystem-calls")).json()
    out = StringIO()
    call_command("filesystem_calls", "--json", stdout=out)
    assert json.loads(out.getvalue()) == document
    (log,) = document["observed"]["logs"]
    page = viewer.get(reverse("fleet-filesystem-calls-tables")).content.decode()
    sentence = f"{log['calls']:,} calls; {log['peak']:,} in the worst second"
    out = StringIO()
    call_command("filesystem_calls", stdout=out)
    assert sentence in page and sentence in out.getvalue()
    lines = viewer.get(reverse("chart-filesystem-calls")).json()["figure"]["data"]
    assert [max(line["y"]) for line in lines if line["name"] == "audit log, nn"] == [log["peak"]]


def test_without_audit_logs_it_is_said_that_nothing_was_observed(viewer):
    page = viewer.get(reverse("fleet-filesystem-calls-tables")).content.decode()
    assert "No audit log of a NameNode is declared" in page
    Cluster.objects.create(name="nn", hdfs_audit_globs=["/nowhere/hdfs-audit.log"])
    found = fleet_calls(T0)
    assert found.observed.silent == ["nn"]
