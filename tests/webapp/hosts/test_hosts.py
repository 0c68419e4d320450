"""Hosts in pages, API, downloads and command: what happened where, the worst first."""

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.test import APIClient

from ingest.records import Observed, TaskManager
from tests.webapp.builders import cluster, finding, job, person
from tests.webapp.hosts.builders import happened_on, host_event, lost, names, runs_on, taskmanager
from webapp.accounts.models import ApiToken
from webapp.findings.models import Finding, FindingHost
from webapp.hosts.lives import ended_before
from webapp.hosts.lookup import concentration
from webapp.hosts.models import HostEvent, JobHost
from webapp.lib import scopes
from webapp.pipeline import retention
from webapp.work.lake import lake

pytestmark = pytest.mark.django_db


@pytest.fixture
def now():
    at = timezone.now()
    cluster(at=at)
    cache.clear()
    return at


@pytest.fixture
def api() -> APIClient:
    client = APIClient()
    client.credentials(
        HTTP_AUTHORIZATION=f"Bearer {ApiToken.objects.issue(person('robot'), 'test')[1]}"
    )
    return client


@pytest.fixture
def three(now):
    """``bad`` with three declines of one job and a finding, ``odd`` with one, ``calm`` with none."""
    of = job(at=now, name="orders")
    ago = now - timedelta(hours=1)
    for host in ("bad", "odd", "calm"):
        runs_on(host, of, ago, subtasks=2)
    for number in range(3):
        host_event(
            "bad",
            of,
            "decline",
            ago + timedelta(minutes=number),
            f"checkpoint {number}, enrich/1",
            taskmanager_id="tm-1",
        )
    host_event("odd", of, "failure", ago)
    names(finding(of, at=now), "bad")
    return of


def listed(answer):
    return [row.host for row in answer.context["page"]]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({}, ["bad", "odd", "calm"]),
        ({"name": "AL"}, ["calm"]),
        ({"cluster": "nowhere"}, []),
        ({"label": 'cluster="prod-eu"'}, ["bad", "odd", "calm"]),
        ({"label": "team=none"}, []),
    ],
)
def test_hosts_are_narrowed_and_ordered_the_worst_first(viewer, three, asked, found):
    assert listed(viewer.get("/hosts/", asked)) == found


def test_a_host_that_a_critical_finding_names_comes_before_one_with_more_trouble(
    viewer, three, now
):
    row = finding(three, at=now, severity="critical", subject_id="calm")
    names(row, "calm")
    Finding.objects.exclude(pk=row.pk).update(severity="warning", severity_rank=2)
    assert listed(viewer.get("/hosts/")) == ["calm", "bad", "odd"]


def test_pages_of_hosts_follow_one_another(viewer, now):
    of = job(at=now)
    for number in range(60):
        runs_on(f"h{number:02}", of, now)
    first, second = (viewer.get("/hosts/", {"page": page}) for page in (1, 2))
    assert listed(first) + listed(second) == [f"h{number:02}" for number in range(60)]
    assert 'href="?page=2"' in first.content.decode()
    assert 'href="?page=1"' in second.content.decode() and "page=3" not in second.content.decode()
    assert listed(viewer.get("/hosts/", {"page": 10_000})) == listed(second)


def test_a_loss_that_three_jobs_were_told_of_is_one(viewer, now):
    lost("tm-1", "h", now, *(job(at=now) for _ in range(3)))
    lost("tm-2", "h", now, job(at=now))
    (row,) = viewer.get("/hosts/").context["page"]
    assert row.losses == 2
    shown = viewer.get("/hosts/h/")
    assert shown.context["counts"]["losses"] == 2
    assert sorted(
        len(moment.jobs) for moment, _ in shown.context["moments"] if "lost" in moment.title
    ) == [1, 3]


def test_the_page_of_a_host_tells_what_happened_there_across_jobs(viewer, three, now):
    other = job(at=now, name="payments")
    runs_on("bad", other, now - timedelta(days=9), left_at=now - timedelta(minutes=9))
    host_event(
        "bad",
        other,
        "expired",
        now,
        "checkpoint 4",
        checkpoint_id=4,
        trigger_time=now,
        vertex_name="sink",
    )
    host_event("elsewhere", other, "decline", now)
    page = viewer.get("/hosts/bad/")
    text = page.content.decode()
    assert [job.name for job, _ in page.context["jobs"]] == ["orders", "payments"]
    assert page.context["counts"] == {"declines": 3, "expired": 1, "failures": 0, "losses": 0}
    assert "3 of 4 declines of the jobs that ran here were on this host" in text
    assert len(page.context["findings"]) == 1
    titles = [moment.title for moment, _ in page.context["moments"]]
    assert "Checkpoint 4 expired" in titles


def test_what_happened_to_a_checkpoint_of_unknown_number_is_told_without_one(viewer, now):
    of = job(at=now)
    host_event("h", of, "decline", now, vertex_name="enrich", subtask=1)
    host_event("h", of, "expired", now, vertex_name="enrich")
    page = viewer.get("/hosts/h/")
    titles = {moment.title for moment, _ in page.context["moments"]}
    assert {"A checkpoint was declined by enrich/1", "A checkpoint expired"} <= titles
    assert "Checkpoint None" not in page.content.decode()


def test_three_times_its_share_is_marked_and_its_share_is_not(viewer, three):
    (here,) = viewer.get("/hosts/bad/").context["concentrations"]
    assert (here.on_host, here.total, here.expected, here.is_notable) == (3, 3, 1.0, True)
    (odd,) = viewer.get("/hosts/odd/").context["concentrations"]
    assert not odd.is_notable


def test_three_of_three_on_one_of_two_hosts_are_not_marked():
    of_job, ran = ("prod", "a"), {("prod", "a"): (4, 8)}
    three = concentration("failure", {of_job: (3, 3)}, ran)
    assert three.on_host >= 2 * (three.expected or 0) and not three.is_notable
    assert concentration("failure", {of_job: (6, 6)}, ran).is_notable


def test_memory_declines_and_losses_are_told_by_taskmanager(viewer, api, three, now):
    at = now - timedelta(minutes=2)
    sample = TaskManager(
        "tm-1",
        "bad",
        at,
        slots=2,
        free_slots=0,
        heap_max_bytes=100,
        metaspace_used_bytes=95,
        metaspace_max_bytes=100,
    )
    lake().append([Observed("prod-eu", at, "rest", (sample,))])
    lost("tm-9", "bad", at, three)
    shown = viewer.get("/hosts/bad/taskmanagers").context
    one, gone = shown["taskmanagers"].rows
    assert (
        one.taskmanager_id,
        one.declines,
        [part.name for part in one.budget.parts if part.state == "tight"],
    ) == (
        "tm-1",
        3,
        ["metaspace"],
    )
    assert (gone.taskmanager_id, gone.lost_at, gone.budget) == ("tm-9", at, None)


def test_a_host_that_nothing_is_known_of_is_said_to_be_unknown_where_a_link_names_its_cluster(
    viewer, now
):
    assert viewer.get("/hosts/nobody/").status_code == 404
    page = viewer.get("/hosts/nobody/", {"cluster": "prod-eu"})
    assert page.status_code == 200 and "? Not known" in page.content.decode()


def test_who_sees_one_cluster_sees_its_hosts_alone(now):
    for name in ("prod-eu", "theirs"):
        of = job(name, at=now)
        finding(of, at=now)
        happened_on("shared", of, now)
    with scopes.within(scopes.OfClusters(["prod-eu"])):
        for model in (JobHost, HostEvent, FindingHost):
            assert set(model.objects.values_list("cluster", flat=True)) == {"prod-eu"}


@pytest.mark.parametrize("path", ["/hosts/", "/hosts/bad/", "/hosts/bad/taskmanagers"])
def test_the_number_of_queries_does_not_grow_with_rows(viewer, three, now, path):
    def queries():
        cache.clear()
        with CaptureQueriesContext(
            connection,
        ) as asked:
            assert viewer.get(path).status_code == 200
        return len(asked)

    happened_on("bad", job(at=now), now)
    few = queries()
    for number in range(20):
        other = job(at=now)
        happened_on("bad", other, now)
        happened_on(f"more-{number}", other, now)
    assert queries() == few


def test_hosts_of_a_job_that_runs_are_kept_however_old(now):
    long_ago = now - timedelta(days=900)
    runs, ended, gone = job(at=now), job(at=now), job(at=now)
    for of, left_at in ((runs, None), (ended, long_ago), (gone, None)):
        runs_on("h", of, long_ago, left_at=left_at)
    gone.delete()
    old = [
        set(rule.old(now).values_list("job_id", flat=True))
        for rule in retention.RULES
        if rule.model is JobHost
    ]
    assert set.union(*old) == {ended.job_id, gone.job_id}


@pytest.mark.parametrize(
    "name", ["a/b", "..", "~", "<b>bold</b>", "10.0.0.7", "a b&c=d", "%2F", "ü"]
)
def test_every_name_has_a_page(viewer, now, name):
    of = job(at=now)
    happened_on(name, of, now)
    text = viewer.get("/hosts/").content.decode()
    link = text.partition('class="host" href="')[2].partition('"')[0].replace("&amp;", "&")
    page = viewer.get(link)
    assert page.status_code == 200 and page.context["name"] == name
    assert "<b>bold" not in page.content.decode()


def test_a_chosen_time_is_counted_to_the_second(viewer, now):
    at = now.replace(microsecond=0) - timedelta(hours=2)
    host_event("h", job(at=now), "decline", at)
    for start, end, declines in ((-1, 1, [1]), (1, 3, []), (-3, -1, [])):
        asked = {
            "from": (at + timedelta(seconds=start)).isoformat(),
            "to": (at + timedelta(seconds=end)).isoformat(),
        }
        assert [row.declines for row in viewer.get("/hosts/", asked).context["page"]] == declines


def test_the_api_tells_of_each_life_how_it_ended(api, now):
    lost("tm-1", "h", now, job(at=now), ended_by="oom_killed")
    taskmanager("tm-2", "h", now)
    told = api.get("/api/v1/taskmanager-lives/").json()["results"]
    assert {one["taskmanager_id"]: one["ended_by"] for one in told} == {
        "tm-1": "oom_killed",
        "tm-2": None,
    }
    (one,) = api.get("/api/v1/taskmanager-lives/", {"ended_by": "oom_killed"}).json()["results"]
    assert one["taskmanager_id"] == "tm-1"


def test_which_taskmanagers_have_ended_is_asked_of_their_newest_life_by_then(db, now):
    ago = [now - timedelta(minutes=minutes) for minutes in range(10)]
    taskmanager("back", "h", ago[5], born_at=ago[9], ended_by="unreachable")
    taskmanager("back", "h", ago[3], life=1, born_at=ago[3])
    taskmanager("gone", "h", ago[2], born_at=ago[9], ended_by="released")
    taskmanager("lives", "h", ago[9])
    day = timedelta(days=1)
    assert [
        {name for _, name in ended_before(at, at - day, "prod-eu")} for at in (ago[4], now, ago[8])
    ] == [{"back"}, {"gone"}, set()]
    assert ended_before(now, now - day, "elsewhere") == set()
