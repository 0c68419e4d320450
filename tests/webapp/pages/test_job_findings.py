"""What was found, on the page of its job: findings on top, health with its deductions, the graph
with its origin.
"""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.webapp.builders import T0, cluster, fact, finding, job, window
from webapp.findings.job_judgements import QUIET
from webapp.findings.models import JobJudgement

pytestmark = pytest.mark.django_db


@pytest.fixture
def now():
    at = timezone.now()
    cluster(at=at)
    return at


def url(of):
    return reverse("job", args=(of.cluster, of.job_id))


def told(client, of, **parameters):
    return client.get(url(of), parameters).context["findings"]


def test_open_findings_come_before_everything_else_the_explaining_one_first(viewer, now):
    of = job(at=now, health=21)
    finding(of, "checkpoint.expired", now, title="9 checkpoints expired", subject_id="j")
    finding(of, at=now - timedelta(minutes=1))
    page = viewer.get(url(of)).content.decode()
    order = [
        page.index(text)
        for text in (
            "slow-enrich back-pressures the whole job",
            "9 checkpoints expired",
            "Last good checkpoint",
        )
    ]
    assert order == sorted(order)
    assert "Profile a slow-enrich task thread" in page


def test_notes_and_what_is_over_are_folded_away(viewer, now):
    of = job(at=now)
    finding(of, "pressure.outbound", now, severity="info", subject_id="v2", title="parse waits")
    finding(of, at=now - timedelta(hours=1), state="closed", title="was held back")
    found = told(viewer, of)
    assert [one.finding.title for one in found.context] == ["parse waits"]
    assert [one.finding.title for one in found.earlier] == ["was held back"]
    assert found.current == []


def test_episodes_of_one_matter_are_one_line(viewer, now):
    of = job(at=now)
    for minute in (10, 60, 120):
        finding(
            of,
            at=now - timedelta(minutes=minute),
            state="open" if minute == 10 else "closed",
            lasted=timedelta(minutes=5),
        )
    (one,) = told(viewer, of).in_full
    assert (one.episodes, one.is_open) == (3, True)


def test_the_worst_is_shown_in_full_and_the_others_in_a_line_each(viewer, now):
    of = job(at=now)
    for number in range(4):
        finding(
            of,
            "checkpoint.full_after_savepoint",
            now - timedelta(minutes=number),
            severity="warning",
            subject_id=str(number),
        )
    finding(of, at=now)
    found = told(viewer, of)
    assert [one.finding.rule for one in found.in_full] == ["pressure.root"]
    assert [one.finding.subject_id for one in found.in_brief] == ["0", "1", "2", "3"]


def test_a_recording_shows_what_was_found_though_all_of_it_is_over(viewer, db):
    cluster("rec", at=T0, kind="recording", enabled=False)
    of = job(
        "rec",
        at=T0,
        start_time=T0 - timedelta(minutes=10),
        state="CANCELED",
        terminal=True,
        end_time=T0,
    )
    finding(of, at=T0 - timedelta(minutes=2), lasted=timedelta(minutes=3), state="closed")
    page = viewer.get(url(of), {"tab": "pressure"}).content.decode()
    assert "slow-enrich back-pressures the whole job" in page
    assert "Where the pressure comes from" in page


def test_health_is_shown_with_what_takes_it_down(viewer, now):
    of = job(at=now, health=45)
    finding(of, at=now)
    finding(of, "data.skew", now, severity="warning", subject_id="x")
    page = viewer.get(url(of)).content.decode()
    assert "▲ health 45" in page
    assert "<b>40</b> pressure.root" in page and "<b>15</b> data.skew" in page


def test_a_sum_that_does_not_give_the_number_is_not_shown(viewer, now):
    of = job(at=now, health=77)
    finding(of, at=now)
    page = viewer.get(url(of)).content.decode()
    assert "◆ health 77" in page
    assert "<b>40</b> pressure.root" not in page


def test_a_job_nobody_judged_is_not_called_healthy(viewer, now):
    page = viewer.get(
        url(job(at=now, health=None, health_state="unknown", judged_at=None))
    ).content.decode()
    assert "? health unknown" in page and "Not judged yet" in page
    assert "Nothing found" not in page


def test_what_rules_lacked_is_told(viewer, now):
    of = job(at=now)
    lacked = [{"rule": "data.skew", "missing": "no rates"}]
    JobJudgement.objects.create(
        cluster=of.cluster, job_id=of.job_id, judged_to=now, windows=[], as_of=now, unknowns=lacked
    )
    page = viewer.get(url(of)).content.decode()
    assert "1 rule could not judge" in page and "no rates" in page


def test_rules_of_what_a_connector_never_reports_have_no_line_of_their_own(viewer, now):
    of = job(at=now)
    quiet = [{"rule": rule, "missing": "any lag"} for rule in QUIET]
    JobJudgement.objects.create(
        cluster=of.cluster, job_id=of.job_id, judged_to=now, windows=[], as_of=now, unknowns=quiet
    )
    page = viewer.get(url(of)).content.decode()
    assert "could not judge" not in page and "lacked data" not in page
    # Which counts them all the same.
    lacked = [{"rule": f"r{number}", "missing": "metrics"} for number in range(98)]
    JobJudgement.objects.update(unknowns=[*lacked, *quiet])
    page = viewer.get(url(of)).content.decode()
    assert "? Not judged" in page and "98 rules could not judge" in page


def test_the_graph_names_the_origin_and_draws_the_way_to_it(viewer, now):
    of = job(at=now)
    one = finding(of, at=now)
    window(
        of,
        "v4",
        now - timedelta(minutes=1),
        backpressured_ms_per_s_p50=0.0,
        backpressured_share=0.0,
    )
    graph = viewer.get(url(of), {"tab": "pressure"}).context["graph"]
    roles = {vertex.node.key: vertex.role for vertex in graph.vertices}
    assert roles == {"v1": "held", "v2": "held", "v3": "origin", "v4": ""}
    assert {(e.edge.source, e.edge.target) for e in graph.edges if e.on_the_way} == {
        ("v1", "v2"),
        ("v2", "v3"),
    }
    links = {vertex.node.key: vertex.url for vertex in graph.vertices}
    assert links["v3"] == f"/findings/{one.pk}/"
    assert links["v4"] == ""


def test_two_vertices_of_one_name_are_told_apart_by_the_edges(viewer, now):
    graph = {
        "vertices": [
            {"vertex_id": key, "name": name}
            for key, name in (("a", "map"), ("b", "map"), ("c", "sink"), ("d", "other sink"))
        ],
        "edges": [{"source": "a", "target": "d"}, {"source": "b", "target": "c"}],
    }
    of = job(at=now, graph=graph)
    finding(
        of,
        at=now,
        subject_id="c",
        subject="sink",
        related=[{"kind": "vertex", "subject": "map", "path": ["map", "sink"]}],
    )
    roles = {
        vertex.node.key: vertex.role
        for vertex in viewer.get(url(of), {"tab": "pressure"}).context["graph"].vertices
    }
    assert roles == {"a": "", "b": "held", "c": "origin", "d": ""}


@pytest.mark.parametrize(
    "path", [["gone", "slow-enrich"], [], ["slow-enrich"], "nonsense", None, [None]]
)
def test_a_way_the_plan_does_not_know_is_left_out(viewer, now, path):
    of = job(at=now)
    finding(of, at=now, related=[{"kind": "vertex", "subject": "x", "path": path}])
    graph = viewer.get(url(of), {"tab": "pressure"}).context["graph"]
    assert [vertex.role for vertex in graph.vertices] == ["", "", "origin", ""]


def test_a_plan_of_two_hundred_vertices_is_drawn_small(viewer, now):
    vertices = [
        {"vertex_id": f"v{n}", "name": f"operator {n}", "parallelism": 8} for n in range(200)
    ]
    edges = [
        {"source": f"v{n}", "target": f"v{n + step}"}
        for n in range(200)
        for step in (8, 9)
        if n + step < 200
    ]
    of = job(at=now, graph={"vertices": vertices, "edges": edges})
    finding(of, at=now, subject_id="v100", subject="operator 100", related=[])
    answer = viewer.get(url(of), {"tab": "pressure"})
    assert answer.context["graph"].is_compact
    assert answer.content.decode().count("◆ origin") == 1
    assert len(answer.content) < 600_000


def test_charts_mark_where_a_finding_began_and_lead_to_it(viewer, now):
    of = job(at=now)
    fact(of, 1, now - timedelta(minutes=5))
    one = finding(of, at=now)
    labels = viewer.get(reverse("job-chart-strip", args=(of.cluster, of.job_id))).json()["figure"][
        "layout"
    ]["annotations"]
    assert [label["name"] for label in labels if label.get("captureevents")] == [
        f"/findings/{one.pk}/"
    ]
