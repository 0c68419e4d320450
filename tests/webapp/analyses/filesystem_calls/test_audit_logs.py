"""Audit logs of a NameNode from declared files to analyses: the calls that a real Flink made,
beside what was expected.
"""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from django.urls import reverse

from ingest.lake.store import Lake
from ingest.shard_collector import collect_shard
from tests.audit_lines import audit_text
from tests.played_calls import calls
from tests.webapp.analyses.answers import tables_of

# a fixture
from tests.webapp.analyses.filesystem_calls.test_recorded import PLAYED, job  # noqa: F401
from tests.webapp.builders import T0
from webapp.analyses.filesystem_calls.fleet_calls import fleet_calls
from webapp.fleet.models import Cluster

pytestmark = pytest.mark.django_db
AUDITED = {"create", "rename", "delete", "getFileInfo", "mkdirs"}


@pytest.fixture
def nn(job, tmp_path):  # noqa: F811  # the fixture
    """A cluster on which the NameNode's audit log is declared; it has been collected once."""
    file = tmp_path / "hdfs-audit.log"
    stranger = [
        call._replace(path="/user/hive/t") for call in calls(PLAYED) if call.kind == "mkdirs"
    ]
    file.write_bytes(audit_text(calls(PLAYED)) + audit_text(stranger, address="10.0.0.2"))
    cluster = Cluster(
        name="nn", hdfs_audit_globs=[str(file)], log_globs=[str(tmp_path / "none*.log")]
    )
    cluster.full_clean()
    cluster.save()
    last = datetime.fromtimestamp(calls(PLAYED)[-1].at_ms / 1000, UTC)
    collect_shard([cluster.source()], {}, Lake(str(tmp_path / "audits" / "lake")), at=lambda: last)
    return cluster


def test_the_fleet_page_shows_who_calls_and_who_bursts(viewer, job, nn):  # noqa: F811
    now = datetime.fromtimestamp(calls(PLAYED)[-1].at_ms / 1000, UTC) + timedelta(seconds=30)
    found = fleet_calls(now)
    (log,) = found.observed.logs
    start = found.start.timestamp()
    audited = [
        call
        for call in calls(PLAYED)
        if call.kind in AUDITED and start <= call.at_ms // 1000 <= found.end.timestamp()
    ]
    seconds = Counter(call.at_ms // 1000 for call in audited)
    strangers = Counter(call.at_ms // 1000 for call in audited if call.kind == "mkdirs")
    both = seconds + strangers
    assert (log.calls, log.peak, log.no_job) == (
        sum(both.values()),
        max(both.values()),
        sum(strangers.values()),
    )
    assert [(one.address, one.calls, one.peak) for one in log.callers] == [
        ("10.0.0.1", sum(seconds.values()), max(seconds.values())),
        ("10.0.0.2", sum(strangers.values()), max(strangers.values())),
    ]
    assert [(one.job_id, one.calls) for one in log.jobs] == [(job.job_id, sum(seconds.values()))]


def test_the_document_has_callers_and_their_chart(viewer, job, nn, monkeypatch):  # noqa: F811
    now = datetime.fromtimestamp(calls(PLAYED)[-1].at_ms / 1000, UTC) + timedelta(seconds=30)
    monkeypatch.setattr("django.utils.timezone.now", lambda: now)
    (log,) = fleet_calls(now).observed.logs
    tables = tables_of(viewer.get(reverse("api-analysis-filesystem-calls")).json())
    assert [(row["address"], row["calls"], row["peak"]) for row in tables["callers"]["rows"]] == [
        (one.address, one.calls, one.peak) for one in log.callers
    ]
    assert f"nn: {log.calls:,} calls, {log.peak:,} in the worst second" in tables["callers"]["note"]
    assert [row["calls"] for row in tables["jobs"]["rows"]] == [one.calls for one in log.jobs]
    assert {row["kind"] for row in tables["kinds"]["rows"]} == set(log.kinds)
    lines = viewer.get(reverse("fleet-filesystem-calls-chart-seconds")).json()["figure"]["data"]
    assert [max(line["y"]) for line in lines if line["name"] == "audit log, nn"] == [log.peak]


def test_without_audit_logs_nothing_is_observed(viewer):
    reasons = [
        block["reason"]
        for block in viewer.get(reverse("api-analysis-filesystem-calls")).json()["blocks"]
        if "reason" in block
    ]
    assert any(one.startswith("No audit log of a NameNode is declared") for one in reasons)
    Cluster.objects.create(name="nn", hdfs_audit_globs=["/nowhere/hdfs-audit.log"])
    found = fleet_calls(T0)
    assert found.observed.silent == ["nn"]
