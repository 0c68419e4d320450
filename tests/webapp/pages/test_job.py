"""The job page, its charts and the page of one checkpoint."""

import csv
import io
import re
from datetime import datetime, timedelta
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from ingest.lake.store import Lake
from ingest.records import Observed, VertexCheckpoint, VertexMetrics
from tests.webapp.builders import (
    GRAPH,
    T0,
    annotation,
    cluster,
    declined,
    event,
    exception,
    expired,
    fact,
    finding,
    job,
    person,
    start,
    unsaved_fact,
    window,
)
from tests.webapp.storage.builders import audit, job_storage, root_figures
from webapp.alerting.evaluation import evaluate
from webapp.alerting.models import Alert
from webapp.checkpoints import outages
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import Cluster
from webapp.lib.instants import epoch_ms

pytestmark = pytest.mark.django_db
QUERIES = 26
"""Session, user, groups, job, cluster, eleven blocks of the page, and the state of the pipeline for
the footer.
"""


@pytest.fixture
def lake(home):
    return Lake(str(home / "lake"))


@pytest.fixture
def now():
    at = timezone.now()
    cluster(at=at)
    return at


def url(of, name="job"):
    return reverse(name, args=(of.cluster, of.job_id))


def checkpoint_url(one):
    return reverse(
        "checkpoint", args=(one.cluster, one.job_id, one.checkpoint_id, epoch_ms(one.trigger_time))
    )


def chart(client, of, name, **parameters):
    return client.get(url(of, f"job-chart-{name}"), parameters).json()


def _graph(client, of):
    return client.get(url(of), {"tab": "pressure"}).context["graph"]


def test_the_page_tells_state_failures_and_last_success(viewer, now):
    of = job(at=now, name="orders")
    fact(of, 1, now - timedelta(minutes=3))
    expired(of, 2, now - timedelta(minutes=2))
    page = viewer.get(url(of)).content.decode()
    assert "● running 3 d 4 h" in page
    assert "1 of 2" in page
    assert "1 min ago" in page


def test_a_job_of_an_unreachable_cluster_is_unknown_and_the_page_says_since_when(viewer, now):
    Cluster.objects.update(
        unreachable_since=now - timedelta(minutes=5),
        last_error="http://jm:8081 did not answer in 10 s.",
    )
    page = viewer.get(url(job(at=now))).content.decode()
    assert "? unknown" in page
    assert "did not answer in 10 s" in page
    assert "● running" not in page


def test_a_job_that_is_listed_no_more_is_neither_green_nor_said_to_have_ended_in_some_way(
    viewer, now
):
    of = job(
        at=now,
        state="NOT_LISTED",
        end_time=now - timedelta(hours=2),
        last_seen_at=now - timedelta(hours=2),
        health=None,
        health_state="ended",
    )
    job(at=now, name="other")
    page = " ".join(unescape(viewer.get(url(of)).content.decode()).split())
    assert "Its JobManager answers, and has not listed this job since" in page
    assert "was lost with the JobManager's memory is not known" in page
    assert '<span class="chip warn">◆ not listed' in page and "chip ok" not in page
    fleet = viewer.get("/?status=NOT_LISTED").content.decode()
    assert of.job_id in fleet and "not listed" in fleet and "other" not in fleet.split("<tbody")[1]
    found = viewer.get("/api/v1/jobs/?status=NOT_LISTED").json()["results"]
    assert [(row["job_id"], row["status"], row["terminal"]) for row in found] == [
        (of.job_id, "NOT_LISTED", False)
    ]
    ended = viewer.get("/?health=ended").content.decode()
    assert of.job_id in ended


def test_a_recording_shows_its_own_time_without_being_asked(viewer, db):
    cluster("rec", at=T0, kind="recording", enabled=False)
    of = job("rec", at=T0, start_time=T0 - timedelta(minutes=10))
    fact(of, 1, T0 - timedelta(minutes=5))
    page = viewer.get(url(of))
    assert "recording, judged at its recorded time" in page.content.decode()
    assert page.context["counts"]["total"] == 1
    assert chart(viewer, of, "strip")["figure"]


def test_the_page_tells_what_the_newest_audit_found_of_its_storage(viewer, now):
    of = job(at=now)
    state = {"tab": "state"}
    assert "No audit has seen" in viewer.get(url(of), state).text
    job_storage(
        root_figures(audit()).audit,
        of.job_id,
        cluster=of.cluster,
        orphan_files=3,
        orphan_bytes=3_000_000,
        missing_files=2,
    )
    page = viewer.get(url(of), state).text
    assert "3 files" in page and "2 files that its checkpoints refer to" in page


def test_the_query_count_does_not_grow_with_the_checkpoints(
    viewer, now, django_assert_max_num_queries, django_assert_num_queries
):
    of = job(at=now)
    fact(of, 0, now)
    with django_assert_max_num_queries(QUERIES) as few:
        viewer.get(url(of))
    CheckpointFact.objects.bulk_create(
        [unsaved_fact(of, n, now - timedelta(minutes=n)) for n in range(1, 300)]
    )
    cache.clear()
    with django_assert_num_queries(len(few)):
        viewer.get(url(of))


def test_checkpoints_page_by_twenty_and_filter_by_outcome(viewer, now):
    of = job(at=now)
    CheckpointFact.objects.bulk_create(
        [unsaved_fact(of, n, now - timedelta(minutes=n)) for n in range(30)]
    )
    expired(of, 99, now)
    first = viewer.get(url(of)).context["checkpoints"]
    second = viewer.get(url(of), {"checkpoints": first.next_cursor}).context["checkpoints"]
    assert (len(first.rows), len(second.rows)) == (20, 11)
    for outcome in ("failed", "expired"):
        assert [
            one.checkpoint_id
            for one in viewer.get(url(of), {"outcome": outcome}).context["checkpoints"].rows
        ] == [99]
    wrong = viewer.get(url(of), {"outcome": "nice"})
    assert (
        not wrong.context["checkpoints"].rows and "Give one of completed" in wrong.content.decode()
    )


def test_failed_checkpoints_take_no_query_each(viewer, now, django_assert_num_queries):
    of = job(at=now)
    expired(of, 1, now)
    viewer.get(url(of))
    with CaptureQueriesContext(connection) as one:
        viewer.get(url(of))
    for number in range(2, 12):
        expired(of, number, now - timedelta(minutes=number))
    with django_assert_num_queries(len(one)):
        viewer.get(url(of))


def test_routine_log_events_show_when_asked_for(viewer, now):
    of = job(at=now)
    event(of, "task_state", now, "slow-enrich switched to RUNNING")
    event(of, "checkpoint_expired", now, "Checkpoint 3 expired")

    def kinds(**parameters):
        shown = viewer.get(url(of), {"tab": "runtime", **parameters}).context["events"]
        return [event.kind for event in shown.rows]

    assert kinds() == ["checkpoint_expired"]
    assert sorted(kinds(kind="all")) == ["checkpoint_expired", "task_state"]
    assert kinds(kind="task_state") == ["task_state"]


def test_a_log_event_leads_to_its_host_and_to_the_job_before_and_after_it(viewer, now):
    of = job(at=now)
    event(of, "checkpoint_expired", now, "Checkpoint 3 expired", host="tm-7")
    page = unescape(viewer.get(url(of), {"tab": "runtime"}).content.decode())
    (before_after,) = re.findall(r'class="at" href="([^"]*)"', page)
    (host,) = re.findall(r'class="host" href="([^"]*)"', page)
    (at,) = parse_qs(urlsplit(before_after).query)["at"]
    assert abs(datetime.fromisoformat(at) - now) < timedelta(seconds=1)
    assert (
        viewer.get(before_after).status_code == 200 and viewer.get(host).context["name"] == "tm-7"
    )


def test_exceptions_are_folded_and_escaped(viewer, now):
    of = job(at=now)
    exception(of, now, "org.example.Boom", stacktrace="<img src=x onerror=alert(1)>\n\tat a.b")
    page = viewer.get(url(of), {"tab": "runtime"}).content.decode()
    assert "&lt;img src=x" in page
    assert '<summary><b class="wrap">org.example.Boom' in page


def test_the_graph_is_coloured_by_the_newest_window_and_blames_nobody(viewer, now):
    of = job(at=now)
    window(of, "v3", now - timedelta(minutes=2), in_pool_p50=0.1)
    busy = {
        "busy_ms_per_s_p50": 986.0,
        "backpressured_ms_per_s_p50": 0.0,
        "backpressured_share": 0.0,
    }
    window(of, "v3", now - timedelta(minutes=1), in_pool_p50=0.96, out_pool_p50=0.17, **busy)
    drawn = {vertex.node.key: vertex for vertex in _graph(viewer, of).vertices}
    assert (drawn["v3"].level, drawn["v3"].line) == ("u4", "4 subtasks · busy")
    assert (drawn["v1"].level, drawn["v1"].line) == ("line", "3 subtasks · not measured")


@pytest.mark.parametrize(
    "graph",
    [
        None,
        {},
        {"vertices": []},
        {"vertices": [{"vertex_id": "a"}], "edges": [{"source": "a", "target": "zz"}]},
    ],
)
def test_a_plan_that_is_missing_or_strange_breaks_nothing(viewer, now, graph):
    assert viewer.get(url(job(at=now, graph=graph)), {"tab": "pressure"}).status_code == 200


def test_nothing_in_the_range_is_said_and_offers_the_whole_life(viewer, now):
    of = job(at=now)
    page = viewer.get(url(of), {"from": "now-1h"}).content.decode()
    assert "No checkpoint in this time" in page
    assert "Show the job&#x27;s whole life" in page or "Show the job's whole life" in page
    assert chart(viewer, of, "strip")["empty"]["title"] == "No checkpoint in this time"


@pytest.mark.parametrize("start", ["yesterday", "now-9999w", "2026-03-01T99:00"])
def test_a_wrong_range_is_explained_and_the_default_shown(viewer, now, start):
    page = viewer.get(url(job(at=now)), {"from": start})
    assert page.status_code == 200
    assert b"Shown instead" in page.content


def test_the_timeline_links_each_bar_to_its_checkpoint(viewer, now):
    of = job(at=now)
    one = fact(of, 7, now - timedelta(minutes=1))
    annotation(of, "restart", now - timedelta(minutes=2), "restart 1")
    figure = chart(viewer, of, "strip")["figure"]
    assert figure["layout"]["meta"]["bars"]["customdata"][0] == checkpoint_url(one)
    assert any("restart 1" in label["text"] for label in figure["layout"]["annotations"])


def test_outages_are_counted_by_all_of_the_range_where_fewer_are_read(viewer, now, monkeypatch):
    monkeypatch.setattr(outages, "MOST_RESTARTS", 3)
    of = job(at=now)
    for number in range(1, 8):
        at = now - timedelta(minutes=number)
        annotation(
            of,
            "restart",
            at,
            "restart",
            detail={"began_at": at.isoformat(), **({"downtime_ms": 2_000} if number > 2 else {})},
        )
        annotation(
            of,
            "restart",
            at + timedelta(seconds=3),
            "restart",
            detail={"outage_began_at": at.isoformat()},
        )
    annotation(of, "restart", now - timedelta(minutes=9), "restart", detail=None)
    page = viewer.get(url(of), {"tab": "runtime"}).content.decode()
    assert "newest first: 8, 10 s down and more: for 3 no source has the end" in page
    assert "the newest 3 of 8" in page


def test_sizes_of_failed_checkpoints_do_not_bend_the_curve(viewer, now):
    of = job(at=now)
    fact(of, 1, now - timedelta(minutes=3), state_bytes=100)
    fact(of, 2, now - timedelta(minutes=2), state_bytes=5, outcome="declined")
    line = next(
        trace
        for trace in chart(viewer, of, "strip")["figure"]["data"]
        if trace["name"] == "full state"
    )
    assert line["y"] == [100]


def test_the_strip_shows_what_the_facts_and_windows_say(viewer, now):
    of = job(at=now)
    at = now.replace(second=0, microsecond=0) - timedelta(minutes=30)
    fact(of, 1, at, checkpointed_bytes=700)
    expired(of, 2, at + timedelta(minutes=4))
    for minute, busy in ((0, 400.0), (4, 900.0)):
        since = at + timedelta(minutes=minute)
        window(of, "v1", since, records_out_per_s=100.0 + minute, records_in_per_s=0.0)
        window(of, "v3", since, busy_ms_per_s_p50=busy, backpressured_ms_per_s_p50=20.0)
        window(of, "v4", since, records_in_per_s=90.0, busy_ms_per_s_p50=None)
    start(of, at + timedelta(minutes=2))
    figure = chart(viewer, of, "strip")["figure"]
    assert figure["layout"]["meta"]["parts"] == ["checkpoints", "sizes", "pressure", "records"]
    drawn = {trace.get("name"): trace for trace in figure["data"]}
    assert (len(drawn["failed"]["x"]), len(drawn["completed"]["x"])) == (1, 1)
    assert drawn["uploaded"]["y"] == [700]
    (heat,) = [trace for trace in figure["data"] if trace["type"] == "heatmap"]
    of_each_vertex = [[share for share in row if share is not None] for row in heat["z"]]
    assert of_each_vertex == [
        [], [0.94, 0.94], [0.04, 0.04],
        [], [0.02, 0.02], [0.4, 0.9],
        [], [0.94, 0.94], [],
    ]  # fmt: skip
    known = [rate for rate in drawn["out of sources"]["y"] if rate is not None]
    assert known == [100.0, 104.0]
    assert [rate for rate in drawn["into sinks"]["y"] if rate is not None] == [90.0, 90.0]
    restart = figure["layout"]["shapes"][0]
    assert (restart["type"], restart["x0"] < restart["x1"]) == ("rect", True)
    axes = {trace["yaxis"] for trace in figure["data"]}
    assert axes == {"y", "y2", "y3", "y4"} and {trace["xaxis"] for trace in figure["data"]} == {"x"}


def test_a_week_of_a_wide_job_is_few_slices_of_its_vertices_under_most_pressure(
    viewer, now, django_assert_num_queries
):
    vertices = [{"vertex_id": f"v{number}", "name": f"map {number}"} for number in range(9)]
    of = job(at=now, graph={"vertices": vertices, "edges": []})
    window(of, "v0", now - timedelta(days=6))
    with CaptureQueriesContext(connection) as few:
        chart(viewer, of, "strip", **{"from": "now-7d"})
    for number in range(9):
        for hour in range(0, 160, 20):
            at = now - timedelta(hours=hour)
            window(of, f"v{number}", at, backpressured_ms_per_s_p50=100.0 * number)
    with django_assert_num_queries(len(few)):
        answer = chart(viewer, of, "strip", **{"from": "now-7d"})
    (heat,) = [trace for trace in answer["figure"]["data"] if trace["type"] == "heatmap"]
    assert (len(heat["z"]), len(heat["z"][0]) <= 181) == (18, True)
    assert "Of 9 vertices the 6 under most pressure are drawn." in answer["note"]


@pytest.mark.parametrize(
    ("tab", "shown"),
    [
        ("checkpoints", "All checkpoints"),
        ("pressure", "Job graph"),
        ("state", "No audit has seen"),
        ("runtime", "Exceptions"),
        ("more", "Before and after"),
        ("nonsense", "All checkpoints"),
    ],
)
def test_a_tab_reads_what_it_shows_only(viewer, now, tab, shown):
    of = job(at=now)
    with CaptureQueriesContext(connection) as asked:
        page = viewer.get(url(of), {"tab": tab}).text
    assert shown in page
    tables = " ".join(query["sql"] for query in asked)
    of_tab = {
        "fleet_jobexception": "runtime",
        "fleet_logevent": "runtime",
        "storage_jobstorage": "state",
    }
    for table, owner in of_tab.items():
        assert (table in tables) == (tab == owner), table


def test_the_card_of_the_cause_acknowledges_its_alert(client, now):
    of = job(at=now)
    one = finding(of, at=now)
    evaluate(now)
    client.force_login(person("olga", operator=True))
    page = client.get(url(of)).text
    uid = Alert.objects.get(finding=one).uid
    assert f'value="{uid}"' in page and "silences/new" in page
    client.post(reverse("alerts-acknowledge"), {"only": uid, "next": url(of)})
    page = client.get(url(of)).text
    assert f'value="{uid}"' not in page and "by olga" in " ".join(page.split())


def test_a_decline_names_who_where_and_why(viewer, now):
    page = viewer.get(checkpoint_url(declined(job(at=now), 3, now))).content.decode()
    for told in (
        "stateful/1",
        "attempt 0",
        "tm-1",
        "flink-tm-1",
        "could not flush",
        "Decline checkpoint 3",
        "writing it to the checkpoint storage failed",
    ):
        assert told in page, told


def test_an_expiry_names_who_was_silent_and_who_came_late(viewer, now):
    page = viewer.get(checkpoint_url(expired(job(at=now), 15, now))).content.decode()
    for told in (
        "Had not acknowledged",
        "0, 1, 2",
        "flink-tm-1, flink-tm-2",
        "Acknowledged too late",
        "1.9 s",
    ):
        assert told in page, told


def test_subtasks_come_from_the_lake_the_silent_ones_first(viewer, now, lake):
    of = job(at=now)
    at = now.replace(microsecond=0)
    one = fact(of, 5, at)
    occurrence = VertexCheckpoint(
        job_id=of.job_id,
        checkpoint_id=5,
        trigger_time=at,
        vertex_id="v3",
        status="COMPLETED",
        acknowledged=2,
        subtask_ack_time=(at, None, at),
        subtask_end_to_end_ms=(100, None, 900),
        subtask_sync_ms=(1, None, 2),
    )
    older = VertexCheckpoint(
        job_id=of.job_id,
        checkpoint_id=5,
        trigger_time=at,
        vertex_id="v3",
        status="IN_PROGRESS",
        acknowledged=0,
    )
    placed = [
        VertexMetrics(
            job_id=of.job_id, vertex_id="v3", ts=at + timedelta(seconds=after_s), host=hosts
        )
        for after_s, hosts in (
            (-60, ("old-1", "old-1", "old-1")),
            (-10, ("tm-1", None, "tm-2")),
            (20, ("new-1", "new-1", "new-1")),
        )
    ]
    lake.append(
        [
            Observed(of.cluster, now, "rest", (older, occurrence, *placed)),
            Observed(of.cluster, now, "rest", (occurrence,)),
        ]
    )
    context = viewer.get(checkpoint_url(one)).context
    parts = context["parts"]
    assert [(part.vertex_name, part.subtask, part.end_to_end_ms, host) for part, host in parts] == [
        ("slow-enrich", 1, None, None),
        ("slow-enrich", 2, 900, "tm-2"),
        ("slow-enrich", 0, 100, "tm-1"),
    ]


def test_ids_that_repeat_are_told_apart_by_their_trigger(viewer, now):
    of = job(at=now)
    fact(of, 1, now - timedelta(days=1), outcome="failed")
    again = fact(of, 1, now)
    assert viewer.get(checkpoint_url(again)).context["fact"].outcome == "completed"


@pytest.mark.parametrize("tail", ["1/99999999999999999999/", "99999999999999999999/1/", "1/1/"])
def test_a_checkpoint_that_never_was_is_not_found(viewer, now, tail):
    assert viewer.get(f"{url(job(at=now))}checkpoints/{tail}").status_code == 404


@pytest.mark.parametrize(
    "json",
    [
        [{}],
        [{"vertex_name": None, "subtasks": None, "count": None, "hosts": None}],
        [{"at": "x", "late_ms": None}],
    ],
)
def test_holes_inside_json_columns_show_as_dashes(viewer, now, json):
    one = fact(
        job(at=now),
        1,
        now,
        outcome="failed",
        declines=json,
        not_acknowledged=json,
        late_messages=json,
    )
    assert viewer.get(checkpoint_url(one)).status_code == 200


def test_the_download_of_checkpoints_keeps_to_the_range(viewer, now):
    of = job(at=now)
    fact(of, 1, now - timedelta(days=3))
    fact(of, 2, now - timedelta(minutes=3))
    body = b"".join(
        viewer.get(
            reverse("job-checkpoints-export", args=(of.cluster, of.job_id))
        ).streaming_content
    ).decode()
    assert [row["checkpoint_id"] for row in csv.DictReader(io.StringIO(body))] == ["2"]


def test_the_plan_of_the_builders_is_the_one_the_page_draws(viewer, now):
    assert len(_graph(viewer, job(at=now)).vertices) == len(GRAPH["vertices"])


def test_a_setting_of_a_cluster_may_be_called_like_a_method(viewer):
    of = job(
        at=timezone.now(), configuration={"items": "x", "get": "y"}, checkpoint_config={"items": 7}
    )
    assert viewer.get(url(of), {"tab": "runtime"}).status_code == 200
