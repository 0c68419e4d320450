"""The page of a vertex, and the flame graph on the page of a finding that names a late source."""

import pytest
from django.urls import reverse
from django.utils import timezone

from ingest.flink_rest.flame_graphs import FlameGraphAnswer
from ingest.flink_rest.payloads.flame_graph import flame_graph
from ingest.sources import WantedFlameGraph
from tests.flame_graphs import graphs, own_methods
from tests.webapp.builders import cluster, finding, job
from webapp.profiles.flame_graph_requests import keep, want
from webapp.profiles.models import FlameGraph

pytestmark = pytest.mark.django_db
SOURCE = "v1"
LATE = {"source": {"vertex_id": SOURCE, "name": "Source: clicks", "subtask": 0, "checkpoint_id": 7}}


@pytest.fixture
def of():
    at = timezone.now().replace(microsecond=0)
    cluster(at=at)
    return job(at=at)


def sampled(of, body=None):
    now = timezone.now()
    want(of.cluster, of.job_id, SOURCE, now)
    graph = flame_graph(body or graphs("2.3.0")[0]["body"])
    keep(of.cluster, [FlameGraphAnswer(WantedFlameGraph(of.job_id, SOURCE), now, None, graph)])


def page(client, of, vertex=SOURCE):
    return client.get(reverse("vertex", args=(of.cluster, of.job_id, vertex)))


def ask(client, of):
    return client.post(
        reverse("vertex-flame-graph", args=(of.cluster, of.job_id, SOURCE)), follow=True
    )


def test_an_operator_asks_for_the_flame_graph_of_a_vertex(operator, of):
    assert "Ask Flink for its flame graph" in page(operator, of).content.decode()
    told = ask(operator, of).content.decode()
    assert "A flame graph was requested; the next collect cycle asks Flink for it." in told
    assert "Ask Flink for" not in told
    row = FlameGraph.objects.get()
    assert (row.vertex_id, row.wanted_by, row.wanted_subtask) == (SOURCE, "olga", None)


def test_a_viewer_sees_it_and_may_not_ask(viewer, of):
    sampled(of)
    told = page(viewer, of).content.decode()
    assert "samples are in" in told
    assert "Ask Flink for" not in told
    assert ask(viewer, of).status_code == 403


def test_a_job_that_has_ended_has_nothing_to_sample(operator, of):
    type(of).objects.update(state="FINISHED", terminal=True)
    assert "Ask Flink for" not in page(operator, of).content.decode()
    assert "nothing to sample" in ask(operator, of).content.decode()
    assert not FlameGraph.objects.exists()


def test_a_vertex_that_is_not_in_the_plan_is_no_page(operator, of):
    assert page(operator, of, "v9").status_code == 404


def test_the_sentence_of_the_page_is_that_of_the_raw_answer(viewer, of):
    body = graphs("2.3.0")[0]["body"]
    sampled(of, body)
    [(method, samples)] = own_methods(body).most_common(1)
    total = body["data"]["value"]
    assert (
        f"{round(100 * samples / total)} % of {total} samples are in {method}, calling "
        "java.lang.Thread.sleep."
    ) in (page(viewer, of).content.decode())


def test_names_of_frames_are_no_markup(viewer, of):
    evil = {"name": "<script>alert(1)</script>:3", "value": 1, "children": []}
    sampled(
        of,
        {
            "endTimestamp": 1_795_400_786_240,
            "data": {"name": "root", "value": 1, "children": [evil]},
        },
    )
    told = page(viewer, of).content.decode()
    assert "<script>alert" not in told
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in told


def test_a_finding_of_a_late_source_shows_the_flame_graph_of_the_source(operator, of):
    late = finding(of, "checkpoint.start_delay", timezone.now(), data=LATE)
    url = reverse("finding", args=(late.pk,))
    assert "No flame graph of this vertex was asked for." in operator.get(url).content.decode()
    sampled(of)
    told = operator.get(url).content.decode()
    assert '<svg class="flames"' in told
    assert "samples are in lab.IncidentJob$Throttle.map" in told


def test_a_finding_of_a_busy_vertex_shows_what_its_threads_do(operator, viewer, of):
    data = {"vertex_id": LATE["source"]["vertex_id"], "hot_subtasks": [0]}
    busy = finding(of, "pressure.root", timezone.now(), data=data)
    sampled(of)
    assert (
        "samples are in lab.IncidentJob$Throttle.map"
        in operator.get(reverse("finding", args=(busy.pk,))).content.decode()
    )
    told = viewer.get(reverse("api-findings-detail", args=(busy.pk,))).json()
    assert (told["flame_graph"]["method"], told["starting_threads"]) == (
        "lab.IncidentJob$Throttle.map",
        None,
    )


def test_other_findings_have_none(operator, of):
    other = finding(of, "checkpoint.start_delay", timezone.now(), data={"source": None})
    assert "flame" not in operator.get(reverse("finding", args=(other.pk,))).context


def test_the_api_tells_of_the_flame_graph_with_the_finding(viewer, of):
    late = finding(of, "checkpoint.start_delay", timezone.now(), data=LATE)
    url = reverse("api-findings-detail", args=(late.pk,))
    assert viewer.get(url).json()["flame_graph"]["state"] is None
    sampled(of)
    told = viewer.get(url).json()["flame_graph"]
    assert (told["state"], told["method"], told["samples"]) == (
        "sampled",
        "lab.IncidentJob$Throttle.map",
        100,
    )
    assert told["sentence"].startswith("100 % of 100 samples")
    other = finding(of, "checkpoint.start_delay", timezone.now(), subject_id="x", data={})
    assert (
        viewer.get(reverse("api-findings-detail", args=(other.pk,))).json()["flame_graph"] is None
    )
