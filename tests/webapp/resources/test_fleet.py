"""Resources of all jobs, by cluster and by the first word of their names."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tests.webapp.placement.recorded import taken_up
from webapp.fleet.models import Cluster
from webapp.resources.lookup import groupings, look_up_fleet, look_up_resources

pytestmark = pytest.mark.django_db


@pytest.fixture
def fleet(home):
    """A recorded job, asked for when it was last seen."""
    (job,) = taken_up("incidents/1.20.5/leaking", home)
    return job, job.last_seen_at + timedelta(seconds=30)


def test_groups_are_sums_over_their_jobs(fleet):
    job, at = fleet
    alone = look_up_resources(job)
    by_cluster, by_name = look_up_fleet(at), look_up_fleet(at, "name")
    assert [group.name for group in by_cluster.groups] == [job.cluster]
    assert [group.name for group in by_name.groups] == ["lab"]
    for group in (*by_cluster.groups, *by_name.groups):
        assert (group.jobs, group.slots, group.spare_bytes) == (1, alone.slots, alone.spare_bytes)
        assert (group.memory_bytes, group.cpu_used) == (alone.memory_bytes, pytest.approx(alone.cpu_used))
    assert [(name, one.job_id) for name, one in by_cluster.jobs] == [("lab-leaking", job.job_id)]
    assert (by_cluster.taskmanagers, by_cluster.idle_slots) == (2, 8 - alone.slots)
    assert by_cluster.idle_bytes == sum(one.process_bytes * one.free_slots // 4 for one in alone.taskmanagers)


def test_labels_of_clusters_group_their_jobs(fleet, viewer):
    job, at = fleet
    Cluster.objects.create(name=job.cluster, url="http://127.0.0.1:8081", labels={"team": "shop"})
    assert groupings() == ("cluster", "name", "team")
    assert [(group.name, group.jobs) for group in look_up_fleet(at, "team").groups] == [("shop", 1)]
    assert "?by=team" in viewer.get("/resources/").content.decode()


def test_page_api_and_command_tell_the_same(fleet, viewer, monkeypatch):
    _job, at = fleet
    for module in ("webapp.resources.views", "webapp.resources.api.views", "webapp.resources.management.commands.resources"):
        monkeypatch.setattr(f"{module}.timezone.now", lambda: at)
    answer = viewer.get("/api/v1/resources/?by=name").json()
    out = StringIO()
    call_command("resources", by="name", json=True, stdout=out)
    assert json.loads(out.getvalue()) == answer
    assert answer["groups"][0]["name"] == "lab"
    assert "lab-leaking" in viewer.get("/resources/tables?by=name").content.decode()
    assert viewer.get("/charts/resources?by=name").json()["figure"]["data"][0]["y"] == ["lab"]


def test_a_lake_that_cannot_be_read_is_told_everywhere(fleet, viewer, home):
    (home / "lake" / "taskmanagers" / "_delta_log").rename(home / "moved")
    (home / "lake" / "taskmanagers" / "_delta_log").write_text("no log")
    assert "The lake could not be read" in viewer.get("/resources/tables").content.decode()
    assert viewer.get("/charts/resources").json()["empty"]["title"] == "The lake could not be read"
    assert viewer.get("/api/v1/resources/").status_code == 404


def test_a_wrong_grouping_is_refused_by_the_api_and_a_job_needs_its_cluster(viewer, db):
    assert viewer.get("/api/v1/resources/?by=colour").status_code == 400
    with pytest.raises(CommandError, match="Give a cluster and a job"):
        call_command("resources", "prod")
    with pytest.raises(CommandError, match="grouped by cluster, name"):
        call_command("resources", by="colour")
