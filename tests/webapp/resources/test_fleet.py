"""Resources of all jobs, by cluster and by the first word of their names."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from tests.webapp.placement.recorded import taken_up
from webapp.analyses.document import Inputs
from webapp.analyses.registry import all_analyses
from webapp.analyses.resources.job_resources import groupings, look_up_fleet, look_up_resources
from webapp.fleet.models import Cluster
from webapp.lib import scopes

pytestmark = pytest.mark.django_db


@pytest.fixture
def fleet(home):
    """A recorded job, asked for when it was last seen."""
    (job,) = taken_up("incidents/1.20.5/leaking", home)
    return job, job.last_seen_at + timedelta(seconds=30)


def test_groups_are_sums_over_their_jobs(fleet):
    job, at = fleet
    alone = look_up_resources(job)
    by_cluster = look_up_fleet(at)
    (group,) = by_cluster.groups
    assert (group.name, group.jobs, group.slots) == (job.cluster, 1, alone.slots)
    assert (group.unused_bytes, group.memory_bytes, group.cpu_used) == (
        alone.unused_bytes,
        alone.memory_bytes,
        pytest.approx(alone.cpu_used),
    )
    assert [(name, one.job_id) for name, one in by_cluster.jobs] == [("lab-leaking", job.job_id)]
    assert (by_cluster.taskmanagers, by_cluster.idle_slots) == (2, 8 - alone.slots)
    assert by_cluster.idle_bytes == sum(
        one.process_bytes * one.free_slots // 4 for one in alone.taskmanagers
    )


def test_labels_of_clusters_group_their_jobs(fleet, viewer):
    job, at = fleet
    Cluster.objects.create(name=job.cluster, url="http://127.0.0.1:8081", labels={"team": "shop"})
    assert groupings() == ("cluster", "team")
    assert [(group.name, group.jobs) for group in look_up_fleet(at, "team").groups] == [("shop", 1)]
    assert '<option value="team">' in viewer.get("/resources/").content.decode()


def test_page_api_and_command_have_one_document(fleet, viewer, monkeypatch):
    job, at = fleet
    monkeypatch.setattr("django.utils.timezone.now", lambda: at)
    answer = viewer.get("/api/v1/analyses/resources/?by=cluster").json()
    out, printed = StringIO(), StringIO()
    call_command("analyse", fleet="resources", set=["by=cluster"], json=True, stdout=out)
    assert json.loads(out.getvalue()) == answer
    groups, jobs = [block for block in answer["blocks"] if block["kind"] == "table"]
    assert [row["group"] for row in groups["rows"]] == [job.cluster]
    assert [row["job"] for row in jobs["rows"]] == ["lab-leaking"]
    call_command("analyse", fleet="resources", stdout=printed)
    page = viewer.get("/resources/?by=cluster", headers={"HX-Request": "true"}).content.decode()
    for text in (answer["verdict"]["sentence"], "lab-leaking"):
        assert text in page and text in printed.getvalue()


def test_jobs_of_clusters_that_a_reader_does_not_see_are_in_no_table_and_no_sum(fleet):
    _job, at = fleet
    own = all_analyses("fleet")["resources"]
    assert len(own.answer(Inputs(at, at, at)).tables[1].rows) == 1
    with scopes.within(scopes.OfClusters({"another"})):
        document = own.answer(Inputs(at, at, at))
    assert document.verdict.sentence == "No job has slots on a TaskManager that was sampled."
    (facts,) = document.blocks
    assert [fact.value for fact in facts.facts if fact.key != "since"] == [0, 0, 0]


def test_a_lake_that_cannot_be_read_makes_the_fleet_unknown(fleet, viewer, home):
    (home / "lake" / "taskmanagers" / "_delta_log").rename(home / "moved")
    (home / "lake" / "taskmanagers" / "_delta_log").write_text("no log")
    verdict = viewer.get("/api/v1/analyses/resources/").json()["verdict"]
    assert (verdict["tone"], verdict["sentence"]) == ("unknown", "The lake could not be read")


def test_a_wrong_grouping_and_an_analysis_that_is_not_there_are_refused(viewer, db):
    assert viewer.get("/api/v1/analyses/resources/?by=colour").status_code == 400
    with pytest.raises(CommandError, match="Give one of cluster"):
        call_command("analyse", fleet="resources", set=["by=colour"])
    with pytest.raises(CommandError, match="No analysis is called nothing"):
        call_command("analyse", fleet="nothing")
