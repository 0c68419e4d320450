"""Thread dumps of a recorded job: asked for on its page, taken by a cycle, shown by an analysis and
on findings.
"""

import json
import re
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from ingest.flink_rest.payloads.thread_dump import Thread, thread_dump
from ingest.flink_rest.thread_dumps import ThreadDumpAnswer
from tests.first_cycles import CLUSTER
from tests.thread_dumps import dumps
from tests.webapp.analyses.answers import tables_of
from tests.webapp.builders import cluster, finding
from tests.webapp.placement.recorded import subtasks, taken_up
from webapp.fleet.models import Cluster, JobCurrent
from webapp.profiles.job_threads import job_threads
from webapp.profiles.models import ThreadDump
from webapp.profiles.thread_dump_requests import MOST_THREADS, keep, request_dump, wanted_of

pytestmark = pytest.mark.django_db
RECORDING = "incidents/2.3.0/slow-sync"
NOW = datetime(2026, 3, 1, 4, 10, tzinfo=UTC)


def after(**span):
    return NOW + timedelta(**span)


def due(at):
    return wanted_of(["c"], at).get("c", ())


def answered(at, body=None, error=""):
    keep("c", [ThreadDumpAnswer("tm", at, thread_dump(body) if body else None, error)])


def test_what_is_wanted_is_due_once_and_again_a_moment_after_its_answer():
    assert request_dump("c", "tm", NOW)
    assert not request_dump("c", "tm", after(seconds=1))
    assert due(NOW) == ("tm",)
    answered(NOW, dumps("1.20.5", "slow-sync")[0])
    assert due(after(hours=1)) == ()
    assert (
        request_dump("c", "tm", after(seconds=19)),
        request_dump("c", "tm", after(seconds=21)),
    ) == (False, True)
    assert due(after(hours=3)) == ()


def test_a_clock_that_was_set_back_refuses_no_dump() -> None:
    request_dump("c", "tm", after(hours=3))
    assert request_dump("c", "tm", NOW)
    ThreadDump.objects.update(ask_at=None, answered_at=after(hours=3))
    assert request_dump("c", "tm", after(seconds=1))


def test_a_refused_request_is_tried_three_times_and_says_why():
    request_dump("c", "tm", NOW)
    for number in range(3):
        assert due(after(minutes=number))
        answered(after(minutes=number), error="/taskmanagers/tm/thread-dump answered HTTP 500.")
    assert due(after(minutes=10)) == ()
    assert ThreadDump.objects.get().note == "/taskmanagers/tm/thread-dump answered HTTP 500."


def test_dumps_at_the_same_place_are_counted_and_one_of_long_ago_counts_no_more():
    body = next(
        body for body in dumps("2.3.0", "slow-sync") if "snapshotState(Enrich" in json.dumps(body)
    )
    for at, expected in ((NOW, 1), (after(seconds=30), 2), (after(hours=1), 1)):
        request_dump("c", "tm", at)
        answered(at, body)
        [slow] = [
            one for one in ThreadDump.objects.get().threads if one["name"] == "enrich (1/2)#0"
        ]
        assert (slow["in_a_row"], slow["place"]) == (expected, "lab.Enrich.snapshotState")


def test_of_very_many_threads_tasks_are_kept_and_the_rest_is_counted():
    pool = tuple(Thread(f"pool-{number}", number, "WAITING") for number in range(1000))
    request_dump("c", "tm", NOW)
    keep("c", [ThreadDumpAnswer("tm", NOW, (*pool, Thread("enrich (1/2)#0", 2000, "RUNNABLE")))])
    row = ThreadDump.objects.get()
    assert row.threads[0]["name"] == "enrich (1/2)#0"
    assert (len(row.threads), row.threads_left_out) == (MOST_THREADS, 1001 - MOST_THREADS)


@pytest.fixture
def of(home) -> JobCurrent:
    """A job that runs now, on the TaskManagers that Flink told."""
    (job,) = taken_up(RECORDING, home)
    cluster(CLUSTER, at=job.as_of, url=f"/recordings/{CLUSTER}", kind="recording")
    return job


def dumped(job):
    """Each TaskManager of the job has the dump of that which had the same tasks; returns where each
    task ran.
    """
    where = subtasks(RECORDING, job.job_id)
    enrich = next(
        vertex["vertex_id"] for vertex in job.graph["vertices"] if vertex["name"] == "enrich"
    )
    for subtask, taskmanager in enumerate(where[enrich]):
        body = next(
            body
            for body in dumps("2.3.0", "slow-sync")
            if f"enrich ({subtask + 1}/2)" in json.dumps(body)
        )
        request_dump(CLUSTER, taskmanager, timezone.now() - timedelta(minutes=1))
        keep(
            CLUSTER,
            [
                ThreadDumpAnswer(
                    taskmanager, timezone.now() - timedelta(minutes=1), thread_dump(body)
                )
            ],
        )
    return where, enrich


def words_of(page):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.replace("<wbr>", "")))


def test_the_analysis_says_what_each_task_of_the_job_does(of, viewer: Client):
    where, enrich = dumped(of)
    at = (CLUSTER, of.job_id)
    api = reverse("api-job-analysis-threads", args=at)
    document = viewer.get(api).json()
    tables = tables_of(document)
    tasks = [one for one in tables["tasks"]["rows"] if one["name"] == "enrich"]
    assert sorted((one["subtask"], one["taskmanager_id"]) for one in tasks) == list(
        enumerate(where[enrich])
    )
    slow = "waits in lab.Enrich.snapshotState, calling java.lang.Thread.sleep, for a checkpoint"
    [row] = [one for one in tasks if one["subtask"] == 0]
    assert "waits for work" not in [one["does"] for one in tables["tasks"]["rows"][:2]]
    assert (row["does"], row["state"], row["in_a_row"]) == (slow, "timed waiting", 1)
    assert "lab.Enrich.snapshotState" in row["stack"]
    page = viewer.get(reverse("threads", args=at)).content.decode()
    assert slow in words_of(page) and "<pre>java.lang.Thread.sleep" in page
    only = tables_of(viewer.get(f"{api}?vertex={enrich}").json())
    assert {one["name"] for one in only["tasks"]["rows"]} == {"enrich"} and "others" not in only
    one = where[enrich][0]
    assert [
        row["taskmanager_id"]
        for row in tables_of(viewer.get(f"{api}?taskmanager={one}").json())["taskmanagers"]["rows"]
    ] == [one]


def test_a_deadlock_is_critical_and_a_task_that_stays_blocked_a_warning(of, viewer: Client):
    where, enrich = dumped(of)
    api = reverse("api-job-analysis-threads", args=(CLUSTER, of.job_id))
    assert viewer.get(api).json()["verdict"]["tone"] == "done"
    row = ThreadDump.objects.get(taskmanager_id=where[enrich][0])
    for thread in row.threads:
        if thread["name"] == "enrich (1/2)#0":
            thread |= {"state": "BLOCKED", "in_a_row": 3}
    row.save()
    held = viewer.get(api).json()["verdict"]
    assert held["tone"] == "warn" and held["sentence"].startswith("enrich (1/2)#0: blocked")
    row.deadlocks = ["a waits for b, b waits for a"]
    row.save()
    assert viewer.get(api).json()["verdict"] == {
        "tone": "crit",
        "sentence": "a waits for b, b waits for a",
    }


def test_the_command_asks_for_dumps_of_the_taskmanagers_of_a_job(of):
    out = StringIO()
    call_command("dump_threads", CLUSTER, of.job_id, stdout=out)
    taskmanagers = {one for places in subtasks(RECORDING, of.job_id).values() for one in places}
    assert set(ThreadDump.objects.values_list("taskmanager_id", flat=True)) == taskmanagers
    assert (
        out.getvalue().strip()
        == f"{len(taskmanagers)} of {len(taskmanagers)} TaskManagers are asked."
    )


def test_where_nobody_asked_the_page_says_so_and_viewers_have_no_button(
    of, viewer: Client, operator: Client
):
    at = reverse("threads", args=(CLUSTER, of.job_id))
    page = words_of(viewer.get(at).content.decode())
    assert "No dump was asked for." in page
    assert "Dump these threads" not in page
    assert viewer.post(reverse("threads-ask", args=(CLUSTER, of.job_id))).status_code == 403
    assert not ThreadDump.objects.exists()


def test_an_operator_asks_for_those_of_a_running_job_alone(of, operator: Client, monkeypatch):
    where, at = subtasks(RECORDING, of.job_id), (CLUSTER, of.job_id)
    ask = reverse("threads-ask", args=at)
    operator.post(ask)
    assert not ThreadDump.objects.exists()  # a recording does not run
    Cluster.objects.update(kind="live", url="http://127.0.0.1:1")
    moved = timezone.now()
    monkeypatch.setattr(
        "webapp.profiles.views.job_threads",
        lambda job, _until, _now, *chosen: job_threads(job, of.last_seen_at, moved, *chosen),
    )
    taskmanagers = sorted({one for places in where.values() for one in places})
    assert operator.post(ask, {"taskmanager": "elsewhere"}).status_code == 404
    operator.post(ask, {"taskmanager": taskmanagers[0]})
    assert ThreadDump.objects.get().taskmanager_id == taskmanagers[0]
    operator.post(ask)
    assert sorted(ThreadDump.objects.values_list("taskmanager_id", flat=True)) == taskmanagers


def test_a_finding_of_a_busy_vertex_leads_to_its_threads(of, viewer: Client):
    _, enrich = dumped(of)
    found = finding(of, "pressure.root", of.as_of, data={"vertex_id": enrich})
    page = viewer.get(reverse("finding", args=(found.pk,))).content.decode()
    assert f"{reverse('threads', args=(CLUSTER, of.job_id))}?vertex={enrich}" in page
    other = finding(of, "data.skew", of.as_of, subject_id="x", data={"vertex_id": enrich})
    assert 'id="threads"' not in viewer.get(reverse("finding", args=(other.pk,))).content.decode()
