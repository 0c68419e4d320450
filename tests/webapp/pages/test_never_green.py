"""Each source is taken away in turn; then every page is read: nothing is green, nothing is older
than it says.
"""

import html
import re
from datetime import datetime, timedelta

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.webapp.builders import cluster
from tests.webapp.pages.installation import GREEN, covered, fleet_of_two
from webapp.alerting.evaluation import evaluate
from webapp.alerting.models import Alert
from webapp.config import schedule
from webapp.findings import unreachable_clusters
from webapp.findings.models import Finding, JobJudgement
from webapp.fleet.freshness import allowed
from webapp.fleet.models import Cluster, JobCurrent
from webapp.fleet.pipeline_status.status import status
from webapp.work import keys
from webapp.work.models import DueWork, Heartbeat

pytestmark = pytest.mark.django_db

LATE = allowed() + timedelta(minutes=10)


@pytest.fixture
def at() -> datetime:
    return timezone.now().replace(microsecond=0)


@pytest.fixture
def fleet(db: None, at: datetime) -> dict[str, JobCurrent]:
    return fleet_of_two(at)


def pages(fleet: dict[str, JobCurrent]) -> dict[str, str]:
    jobs = {name: reverse("job", args=(of.cluster, of.job_id)) for name, of in fleet.items()}
    return {
        "fleet": "/",
        "findings": "/findings/",
        "alerts": "/alerts/",
        "clusters": "/clusters/",
        "pipeline": "/pipeline/",
        **jobs,
    }


def read(viewer: Client, address: str) -> str:
    """The page within its header: search and menus say nothing about jobs."""
    cache.clear()
    text = viewer.get(address).content.decode()
    body = html.unescape(text[text.index('<div id="state-of-data"') :])
    # Not shown before a dialog opens, and what a filter could show.
    body = re.sub(r"<dialog.*?</dialog>|<select.*?</select>", "", body, flags=re.S)
    # Tiles of the fleet count: a green zero is no claim.
    return re.sub(
        r'<a class="panel kpi ok"[^>]*><span>[^<]*</span><b class="tone">● 0</b>', "", body
    )


def green(viewer: Client, fleet: dict[str, JobCurrent]) -> dict[str, list[str]]:
    """Lines of each page that claim that something is well; the legend of a chart claims nothing."""
    texts = {name: read(viewer, path).splitlines() for name, path in pages(fleet).items()}
    found = {
        name: [
            line.strip()[:160] for line in lines if GREEN.search(line) and "● completed" not in line
        ]
        for name, lines in texts.items()
    }
    return {name: lines for name, lines in found.items() if lines}


def late(at: datetime) -> None:
    JobCurrent.objects.update(
        judged_at=at - LATE, last_seen_at=at - LATE, last_completed_at=at - LATE
    )
    JobJudgement.objects.update(judged_to=at - LATE)


def test_with_all_sources_a_calm_job_is_green(viewer: Client, fleet: dict[str, JobCurrent]) -> None:
    page = read(viewer, pages(fleet)["calm"])
    assert "● Nothing found" in page
    assert "Late data" not in page


def test_a_dead_spark_leaves_nothing_green_and_every_page_says_up_to_when(
    viewer: Client, fleet: dict[str, JobCurrent], at: datetime
) -> None:
    late(at)
    DueWork.objects.filter(key=keys.CYCLE).update(last_success_at=at - LATE)
    left = green(viewer, fleet)
    assert {name: lines for name, lines in left.items() if name != "clusters"} == {}
    for name, path in pages(fleet).items():
        page = read(viewer, path)
        assert "Late data" in page, name
        assert f"judged up to {at - LATE:%Y-%m-%d %H:%M:%S} UTC (13 min ago)" in page, name


def test_a_silent_jobmanager_leaves_nothing_green(
    viewer: Client, fleet: dict[str, JobCurrent], at: datetime
) -> None:
    late(at)
    Cluster.objects.update(
        last_success_at=at - LATE,
        unreachable_since=at - timedelta(minutes=5),
        last_error="connection refused",
    )
    unreachable_clusters.watch(at)
    assert green(viewer, fleet) == {}
    assert all("1 cluster did not answer" in read(viewer, path) for path in pages(fleet).values())


def test_a_dead_beat_is_said_on_every_page(
    viewer: Client, fleet: dict[str, JobCurrent], at: datetime
) -> None:
    Heartbeat.objects.update(at=at - timedelta(seconds=20 * schedule.TICK_S))
    assert all("is the beat running" in read(viewer, path) for path in pages(fleet).values())


def test_a_paused_cluster_leaves_nothing_green(
    viewer: Client, fleet: dict[str, JobCurrent], at: datetime
) -> None:
    Cluster.objects.update(enabled=False)
    unreachable_clusters.watch(at)
    assert {name: lines for name, lines in green(viewer, fleet).items() if name != "pipeline"} == {}
    assert "Collection from this cluster is paused" in read(viewer, pages(fleet)["calm"])


def test_jobs_of_a_removed_cluster_are_no_longer_watched(
    operator: Client, fleet: dict[str, JobCurrent], at: datetime
) -> None:
    operator.post(reverse("cluster-remove", args=("prod",)), {"name": "prod"}, follow=True)
    assert {
        name: lines for name, lines in green(operator, fleet).items() if name != "pipeline"
    } == {}
    for name in ("calm", "troubled"):
        page = read(operator, pages(fleet)[name])
        assert "no longer watched" in page
        assert "● running" not in page
    assert "removed from Weir at" in read(operator, pages(fleet)["calm"])
    assert not Finding.objects.open().exists()


def test_the_alert_of_a_removed_cluster_ends_and_says_why(
    operator: Client, fleet: dict[str, JobCurrent], at: datetime
) -> None:
    operator.post(reverse("cluster-remove", args=("prod",)), {"name": "prod"})
    evaluate(timezone.now())
    alert = Alert.objects.get()
    assert alert.state == "resolved"
    assert "no longer watched" in alert.ended_because
    page = read(operator, reverse("alert", args=(alert.uid,)))
    assert "■ no longer watched" in page and "● resolved" not in page
    assert alert.events.get(kind="resolved").comment == alert.ended_because


def test_a_cluster_that_is_registered_again_is_watched_again(
    operator: Client, fleet: dict[str, JobCurrent], at: datetime
) -> None:
    operator.post(reverse("cluster-remove", args=("prod",)), {"name": "prod"})
    assert set(JobCurrent.objects.with_status(at).values_list("status", flat=True)) == {"UNWATCHED"}
    cluster("prod", at=at)
    assert set(JobCurrent.objects.with_status(at).values_list("status", flat=True)) == {"RUNNING"}


def test_a_range_without_data_is_not_judged_and_links_to_the_life_of_the_job(
    viewer: Client, fleet: dict[str, JobCurrent], at: datetime
) -> None:
    JobJudgement.objects.update(covered=[])
    page = read(viewer, pages(fleet)["calm"])
    assert "? Not judged in this time" in page and "Whole life of the job" in page
    assert "● Nothing found" not in page


def test_a_range_that_was_judged_in_part_says_which_part_is_missing(
    viewer: Client, fleet: dict[str, JobCurrent], at: datetime
) -> None:
    of = fleet["calm"]
    JobJudgement.objects.filter(job_id=of.job_id).delete()
    covered(of, at - timedelta(hours=1), at)
    page = read(viewer, f"{pages(fleet)['calm']}?from=now-6h&to=now")
    assert "? Judged in part" in page and "● Nothing found" not in page
    assert f"No data from {at - timedelta(hours=6):%m-%d %H:%M}" in page


def test_rules_that_all_lacked_data_found_nothing_and_that_is_not_green(
    viewer: Client, fleet: dict[str, JobCurrent]
) -> None:
    lacked = [{"rule": f"r{number}", "missing": "metrics"} for number in range(100)]
    JobJudgement.objects.update(unknowns=lacked)
    assert "? Not judged" in read(viewer, pages(fleet)["calm"])


@pytest.mark.parametrize(
    ("behind", "age", "says_as_of"),
    [
        (timedelta(seconds=20), "1 min ago", False),
        (allowed() - timedelta(seconds=30), "3 min ago", True),
        (LATE, "14 min ago", True),
    ],
    ids=["in-time", "behind", "late"],
)
def test_ages_count_from_now_and_say_as_of_when_where_judgements_are_behind(
    viewer: Client,
    fleet: dict[str, JobCurrent],
    at: datetime,
    behind: timedelta,
    age: str,
    says_as_of: bool,
) -> None:
    judged = at - behind
    JobCurrent.objects.update(judged_at=judged, last_completed_at=judged - timedelta(minutes=1))
    for name, before in (("calm", "Last good checkpoint</span>"), ("fleet", "<tbody")):
        page = read(viewer, pages(fleet)[name]).partition(before)[2]
        assert age in page, name
        assert (f"as of {judged:%H:%M:%S}" in page) == says_as_of, name


def test_status_says_up_to_when_running_jobs_are_judged(
    fleet: dict[str, JobCurrent], at: datetime
) -> None:
    assert status(at).judged_to == at and not status(at).is_stale
    JobCurrent.objects.update(judged_at=at - LATE)
    assert status(at).judged_to == at - LATE and status(at).is_stale


def test_alerts_say_what_their_finding_says_now(
    viewer: Client, fleet: dict[str, JobCurrent], at: datetime
) -> None:
    Finding.objects.update(
        title="slow-enrich back-pressures 7 of 9 vertices", cause="It is full on 7."
    )
    evaluate(at + timedelta(seconds=15))
    assert Alert.objects.get().title == "slow-enrich back-pressures 7 of 9 vertices"
    assert "back-pressures 7 of 9" in read(viewer, "/alerts/")


def test_pages_of_the_present_refresh_themselves_and_those_of_the_past_do_not(
    viewer: Client, fleet: dict[str, JobCurrent]
) -> None:
    for name, path in pages(fleet).items():
        assert '<main id="main" data-refresh' in read(viewer, path), name
    past = f"{pages(fleet)['calm']}?from=2026-01-01T00:00:00Z&to=2026-01-01T06:00:00Z"
    assert "data-refresh" not in read(viewer, past).split("</main>")[0]
