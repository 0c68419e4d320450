"""What each subtask of a vertex did, on the panel that a click on the job graph opens, held against
Flink's own answers.
"""

import re

import pytest
from django.urls import reverse

from tests.webapp.builders import T0, cluster, finding, job
from tests.webapp.placement.recorded import answers, taken_up
from webapp.fleet.models import JobCurrent
from webapp.pressure.views import PAGE_SIZE, busiest_first

pytestmark = pytest.mark.django_db
RECORDING = "recordings/1.20.5/F"
READ = {
    "busy_ms_per_s": "busyTimeMsPerSecond",
    "backpressured_ms_per_s": "backPressuredTimeMsPerSecond",
    "in_pool_usage": "Shuffle.Netty.Input.Buffers.inPoolUsage",
    "out_pool_usage": "Shuffle.Netty.Output.Buffers.outPoolUsage",
}


def sampled(number, busy_ms_per_s):
    names = (
        "records_in_per_s",
        "records_out_per_s",
        "over_median",
        "host",
        "attempt",
        "task_state",
    )
    return dict.fromkeys((*READ, *names)) | {"subtask": number, "busy_ms_per_s": busy_ms_per_s}


@pytest.fixture
def of(home):
    (own,) = taken_up(RECORDING, home)
    cluster(own.cluster, at=own.as_of, url="/recordings/f", kind="recording")
    return own


def address(of, vertex_id, name="vertex-subtasks", **more):
    return reverse(
        name, kwargs={"cluster": of.cluster, "job_id": of.job_id, "vertex_id": vertex_id, **more}
    )


def told_by_flink(of, vertex_id):
    """Subtask → host and metrics, of the newest answers about each."""
    hosts, metrics = {}, {}
    for told in answers(RECORDING):
        path = told["path"].split("?")[0]
        if path == f"/jobs/{of.job_id}/vertices/{vertex_id}":
            hosts = {one["subtask"]: one["host"] for one in told["body"]["subtasks"]}
        found = re.fullmatch(
            rf"/jobs/{of.job_id}/vertices/{vertex_id}/subtasks/([0-9]+)/metrics", path
        )
        if found and "?get=" in told["path"]:
            metrics[int(found[1])] = {one["id"]: one["value"] for one in told["body"]}
    return hosts, metrics


def test_every_subtask_has_the_host_and_the_figures_that_flink_told_last(viewer, of):
    compared = 0
    for vertex in of.graph["vertices"]:
        hosts, metrics = told_by_flink(of, vertex["vertex_id"])
        page = viewer.get(address(of, vertex["vertex_id"], "vertex-subtasks"))
        rows = {row["subtask"]: row for row in page.context["subtasks"]}
        assert {number: row["host"] for number, row in rows.items()} == hosts
        for number, figures in metrics.items():
            for column, metric in READ.items():
                if figures.get(metric, "NaN") != "NaN":
                    assert float(rows[number][column]) == pytest.approx(float(figures[metric])), (
                        vertex["name"],
                        number,
                        column,
                    )
                    compared += 1
    assert compared > 20


def test_the_panel_shows_the_busiest_first(viewer, of):
    vertex_id = max(of.graph["vertices"], key=lambda one: one["parallelism"])["vertex_id"]
    shown = viewer.get(address(of, vertex_id)).context["subtasks"]
    values = [row["busy_ms_per_s"] for row in shown if row["busy_ms_per_s"] is not None]
    assert len(values) > 1 and values == sorted(values, reverse=True)


def test_what_flink_told_nothing_of_comes_last():
    rows = [sampled(number, busy) for number, busy in enumerate((None, 3.0, 0.0, 7.0))]
    assert [row["subtask"] for row in busiest_first(rows)] == [3, 1, 2, 0]


def test_findings_about_the_vertex_lead_to_their_pages(viewer, of):
    vertex = of.graph["vertices"][0]
    one = finding(
        of,
        at=of.as_of,
        subject_kind="vertex",
        subject_id=vertex["vertex_id"],
        subject=vertex["name"],
    )
    assert (
        reverse("finding", args=(one.pk,))
        in viewer.get(address(of, vertex["vertex_id"])).content.decode()
    )


def test_a_vertex_that_was_not_sampled_says_so_and_one_that_is_not_in_the_plan_is_not_there(
    viewer, home
):
    cluster(at=T0)
    of = job(at=T0)
    (vertex_id, *_) = [one["vertex_id"] for one in of.graph["vertices"]]
    assert "No sample of this vertex" in viewer.get(address(of, vertex_id)).content.decode()
    assert viewer.get(address(of, "no-such-vertex")).status_code == 404


def test_many_subtasks_come_in_pages(viewer, of, monkeypatch):
    many = [sampled(number, float(number)) for number in range(5_000)]
    monkeypatch.setattr("webapp.pressure.views._subtasks", lambda _row: many)
    vertex_id = of.graph["vertices"][0]["vertex_id"]
    first, last = (
        viewer.get(address(of, vertex_id), {"page": page}).context["page"].object_list
        for page in ("1", "999999")
    )
    assert [row["subtask"] for row in first] == list(range(4_999, 4_999 - PAGE_SIZE, -1))
    assert last[-1]["subtask"] == 0


def test_a_lake_that_cannot_be_read_is_said(viewer, of, monkeypatch):
    monkeypatch.setattr("webapp.pressure.views.newest_sample", lambda *_: 1 / 0)
    assert (
        "The lake could not be read"
        in viewer.get(address(of, of.graph["vertices"][0]["vertex_id"])).content.decode()
    )
    assert JobCurrent.objects.count() == 1
