"""The fleet page."""

import csv
import io
import re
from datetime import timedelta
from html import unescape

import pytest
from django.core.cache import cache
from django.urls import reverse
from django.utils import timezone

from spark_jobs.serving import OUTCOMES
from tests.webapp.builders import cluster, finding, job, unsaved_job
from tests.webapp.pages.installation import covered
from webapp.checkpoints.models import CheckpointRollup
from webapp.fleet.columns import FLEET_COLUMNS
from webapp.fleet.models import JobCurrent
from webapp.fleet.sorting import FLEET_SORTS
from webapp.site.views.fleet import EXPORT_COLUMNS

pytestmark = pytest.mark.django_db
QUERIES = 18
"""Session, user, clusters, totals, jobs, what was found on them, their trends (three), and the state
of the pipeline for the footer.
"""


@pytest.fixture
def now():
    at = timezone.now()
    cluster(at=at)
    return at


def names(answer):
    return [job.name for job, *_ in answer.context["rows"]]


def test_the_worst_comes_first_the_unknown_before_the_healthy_the_ended_in_a_tab(viewer, now):
    job(at=now, name="good")
    job(at=now, name="gone", state="FAILED", terminal=True)
    job(at=now, name="done", state="FINISHED", terminal=True)
    job(at=now, name="not judged", health=None, health_state="unknown")
    job(at=now, name="poor", health=34)
    job(at=now, name="fair", health=72)
    assert names(viewer.get("/")) == ["poor", "fair", "not judged", "good"]
    assert names(viewer.get("/", {"health": "ended"})) == ["gone", "done"]
    assert names(viewer.get("/", {"q": "gone"})) == ["gone"]


def test_jobs_that_ended_alike_are_in_the_order_of_their_worst_finding(viewer, now):
    done = {"at": now, "state": "CANCELED", "terminal": True}
    job(**done, name="well")
    job(**done, name="suffered", worst_finding_points=15)
    job(**done, name="expired", worst_finding_points=40)
    job(at=now, name="gone", state="FAILED", terminal=True)
    job(at=now, name="gone and why", state="FAILED", terminal=True, worst_finding_points=15)
    assert names(viewer.get("/")) == ["gone and why", "gone", "expired", "suffered", "well"]


def test_each_job_says_why_it_stands_there(viewer, now):
    poor, done = job(at=now, health=45), job(at=now, state="CANCELED", terminal=True)
    job(at=now, health=None, health_state="unknown", judged_at=None)
    job(at=now)
    finding(poor, at=now, title="<b>slow</b> back-pressures parse")
    finding(
        poor,
        "checkpoint.expired",
        now,
        title="9 checkpoints expired",
        subject_kind="job",
        subject_id=poor.job_id,
    )
    finding(poor, "pressure.outbound", now, severity="info", subject_id="v2", title="parse waits")
    finding(done, at=now, state="closed", title="was held back")
    page = viewer.get("/").content.decode()
    ended = viewer.get("/", {"health": "ended"}).content.decode()
    assert "was held back" in ended and "was held back" not in page
    assert "&lt;b&gt;slow&lt;/b&gt; back-pressures parse" in page and "and 1 more" in page
    assert "parse waits" not in page
    assert "not judged yet" in page and "nothing found" in page


def test_the_health_of_a_job_that_cannot_be_seen_is_unknown_whatever_it_was(viewer, now):
    cluster("dark", at=now - timedelta(hours=1), unreachable_since=now)
    job("dark", at=now - timedelta(hours=1), health=100, health_state="judged")
    page = viewer.get("/").content.decode()
    assert "● 100" not in page
    assert "not judged now, judged up to" in page


def test_unknown_health_says_why_beside_what_was_found(viewer, now):
    row = job(at=now, health=None, health_state="unknown")
    finding(row, at=now, title="slow back-pressures parse")
    for address in ("/", reverse("job", args=(row.cluster, row.job_id))):
        page = viewer.get(address).content.decode()
        assert "slow back-pressures parse" in page and "no rule had the data it needs" in page


@pytest.mark.parametrize(
    ("band", "wanted"),
    [("poor", ["a"]), ("fair", ["b"]), ("unknown", ["c"]), ("good", ["d"]), ("x", [])],
)
def test_a_band_of_health_shows_that_band_only(viewer, now, band, wanted):
    for name, health in (("a", 59), ("b", 60), ("c", None), ("d", 90)):
        job(
            at=now, name=name, health=health, health_state="unknown" if health is None else "judged"
        )
    job(at=now, name="e", state="FINISHED", terminal=True)
    assert names(viewer.get("/", {"health": band})) == wanted


def test_jobs_of_a_cluster_that_cannot_be_seen_are_unknown_never_running(viewer, now):
    cluster("dark", at=now - timedelta(hours=1), unreachable_since=now)
    job("dark", at=now - timedelta(hours=1), name="lost")
    page = viewer.get("/")
    assert b"? unknown" in page.content
    assert b"running</span>" not in page.content
    assert page.context["totals"]["unknown"] == 1


def test_each_row_has_a_cell_under_each_heading_and_each_heading_sorts_by_something_known(
    viewer, now
):
    job(at=now)
    table = viewer.get("/").content.decode().partition("<thead>")[2]
    head, _, rest = table.partition("</thead>")
    assert head.count("<th ") == rest.partition("</tr>")[0].count("<td") == len(FLEET_COLUMNS)
    assert {column.sort for column in FLEET_COLUMNS} <= {"", *FLEET_SORTS}


def test_each_figure_stands_under_its_heading(viewer, now):
    at = now - timedelta(minutes=3)
    row = job(
        at=now,
        name="orders",
        health=57,
        state="RESTARTING",
        end_to_end_p95_ms=4_321,
        state_bytes=1_000_000,
        pressured_share=0.37,
        burn=3.472,
        burn_over_min=360,
        last_completed_at=at,
        recent_outcomes=[{"checkpoint_id": 7, "outcome": "expired", "is_savepoint": False}],
    )
    finding(row, at=now, title="slow back-pressures parse")
    head, _, body = viewer.get("/").content.decode().partition("<thead>")[2].partition("</thead>")
    cells = [
        words(cell) for cell in re.findall(r"<td.*?</td>", body.partition("</tr>")[0], re.DOTALL)
    ]
    shown = dict(
        zip(
            [words(heading) for heading in re.findall(r"<th .*?</th>", head, re.DOTALL)],
            cells,
            strict=True,
        )
    )
    expected = {
        "Health ↑": "▲ 57",
        "Status": "◆ restarting",
        "Job": "orders prod-eu · restarting ▲ slow back-pressures parse",
        "Why": "▲ slow back-pressures parse",
        "Last 16 checkpoints": "1 last: 1 expired; newest expired",
        "p95": "4.3 s",
        "State": "1.0 MB",
        "Pressure": "37 %",
        "Burn": "▲ 3.47 × 6 h",
        "Last success": "3 min ago",
    }
    assert shown == expected


def test_whatever_sorts_is_in_the_download():
    assert {sort.field for sort in FLEET_SORTS.values()} <= set(EXPORT_COLUMNS), (
        "name it in EXPORT_COLUMNS (webapp/site/views/fleet.py)"
    )


def words(html):
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())


def test_the_query_count_does_not_grow_with_the_fleet(
    viewer, now, django_assert_max_num_queries, django_assert_num_queries
):
    job(at=now)
    with django_assert_max_num_queries(QUERIES) as few:
        viewer.get("/")
    JobCurrent.objects.bulk_create([unsaved_job(at=now) for _ in range(200)])
    cache.clear()
    with django_assert_num_queries(len(few)):
        viewer.get("/")


@pytest.mark.parametrize("sort", FLEET_SORTS)
@pytest.mark.parametrize("sign", ["", "-"])
def test_every_column_sorts_and_pages(viewer, now, sort, sign):
    JobCurrent.objects.bulk_create([unsaved_job(at=now, restarts=n) for n in range(60)])
    first = viewer.get("/", {"sort": sign + sort})
    second = viewer.get("/", {"sort": sign + sort, "cursor": first.context["page"].next_cursor})
    assert len({*names(first), *names(second)}) == 60


@pytest.mark.parametrize("sort", ["name); DROP TABLE", "--name", "graph", "cluster__url"])
def test_what_is_not_on_the_list_does_not_sort(viewer, now, sort):
    job(at=now)
    page = viewer.get("/", {"sort": sort})
    assert names(page) == [] and page.context["filters"].sorting[0].name == "health"


def test_a_damaged_page_link_leads_to_the_first_page(viewer, now):
    assert viewer.get("/", {"cursor": "%%%"}).url == "/"


def test_search_finds_names_and_ids_and_says_how_many(viewer, now):
    job(at=now, name="orders-join")
    wanted = job(at=now, name="other")
    assert names(viewer.get("/", {"q": "ORDERS"})) == ["orders-join"]
    page = viewer.get("/", {"q": wanted.job_id})
    assert names(page) == ["other"]
    assert b"1 match" in page.content


@pytest.mark.parametrize(
    "search", ["%", "_", "\\", "'; --", "\x00", "x" * 5_000, "<script>", "שלום"]
)
def test_a_hostile_search_finds_nothing_and_breaks_nothing(viewer, now, search):
    job(at=now, name="plain")
    page = viewer.get("/", {"q": search, "cluster": search, "status": search})
    assert page.status_code == 200
    assert b"<script>" not in page.content


@pytest.mark.parametrize("status", ["FAILED", "RESTARTING", "UNKNOWN", "RUNNING", "FINISHED"])
def test_a_status_filter_shows_that_status_only(viewer, now, status):
    states = [("FAILED", True), ("RESTARTING", False), ("RUNNING", False), ("FINISHED", True)]
    for state, terminal in states:
        job(at=now, name=state, state=state, terminal=terminal)
    job(at=now - timedelta(days=2), name="UNKNOWN")
    assert names(viewer.get("/", {"status": status})) == [status]


@pytest.mark.parametrize(
    "name",
    ["<script>alert(1)</script>", "x" * 300, "\u202eevil\u202c مرحبا", "</td></tr>", None, ""],
)
def test_any_job_name_is_shown_as_text(viewer, now, name):
    row = job(at=now, name=name)
    page = viewer.get("/")
    assert page.status_code == 200
    assert b"<script>alert" not in page.content and b"</td></tr></td>" not in page.content
    assert viewer.get(reverse("job", args=(row.cluster, row.job_id))).status_code == 200


def test_unknown_figures_are_dashes_not_zeros(viewer, now):
    unknown = (
        "end_to_end_p95_ms",
        "dominant_phase",
        "state_bytes",
        "checkpointed_bytes",
        "pressured_share",
        "last_completed_at",
    )
    job(
        at=now,
        name="bare",
        recent_outcomes=None,
        recent_total=None,
        recent_failed=None,
        **dict.fromkeys(unknown),
    )
    row = viewer.get("/").content.decode().split("<tbody>")[1]
    assert row.count("–") >= 6
    assert "0 B" not in row


def test_an_empty_fleet_says_what_to_do_next(viewer, db):
    assert b"No cluster yet" in viewer.get("/").content
    cluster(at=timezone.now())
    assert b"No job seen yet" in viewer.get("/").content
    assert b"No job matches" in viewer.get("/", {"q": "x"}).content


def test_the_download_holds_all_matches_in_order_and_no_formula(viewer, now):
    JobCurrent.objects.bulk_create([unsaved_job(at=now, name=f"job-{n}") for n in range(60)])
    job(at=now, name="=HYPERLINK(1)", state="FAILED", health=0)
    body = b"".join(viewer.get(reverse("fleet-export")).streaming_content).decode()
    rows = list(csv.DictReader(io.StringIO(body)))
    assert (len(rows), rows[0]["name"], rows[0]["status"]) == (61, "'=HYPERLINK(1)", "FAILED")


def test_the_download_has_the_same_filters(viewer, now):
    job(at=now, name="orders")
    job(at=now, name="other")
    body = b"".join(viewer.get(reverse("fleet-export"), {"q": "orders"}).streaming_content)
    assert [row["name"] for row in csv.DictReader(io.StringIO(body.decode()))] == ["orders"]


def counts(answer):
    return [(group.value, group.jobs, group.badge.word) for group in answer.context["groups"]]


def test_jobs_are_grouped_by_cluster_label_or_family_the_worst_first(viewer, now):
    cluster("other", at=now, labels={"team": "pay"})
    job(at=now, name="orders-2026-11-20", health=34)
    job(at=now, name="orders-2026-11-21", health=72)
    job("other", at=now, name="clicks", health=95)
    job("other", at=now, name="views", health=None, health_state="unknown")
    job("other", at=now, name="gone", state="FAILED", terminal=True)
    assert counts(viewer.get("/", {"group": "cluster"})) == [
        ("prod-eu", 2, "34"),
        ("other", 2, "unknown"),
    ]
    assert counts(viewer.get("/", {"group": "family"})) == [
        ("orders-#", 2, "34"),
        ("views", 1, "unknown"),
        ("clicks", 1, "95"),
    ]
    by_team = viewer.get("/", {"group": "team"})
    assert counts(by_team) == [("", 2, "34"), ("pay", 2, "unknown")]
    assert names(viewer.get(by_team.context["groups"][1].url)) == ["views", "clicks"]
    assert len(names(viewer.get("/", {"family": "orders-#"}))) == 2


def test_the_tab_of_ended_jobs_says_how_many_failed(viewer, now):
    job(at=now)
    job(at=now, state="FAILED", terminal=True)
    job(at=now, state="FINISHED", terminal=True)
    assert "Ended 2 ▲ 1 failed" in words(viewer.get("/").content.decode())


def test_health_over_time_falls_where_something_was_found_and_is_unknown_where_not_judged(
    viewer, now
):
    ill = job(at=now, health=60)
    unjudged, unknown = job(at=now), job(at=now, health=None, health_state="unknown")
    seen = {"first_seen": now - timedelta(hours=2), "last_seen": now}
    finding(ill, at=now, severity="critical", confidence="high", **seen)
    for of in (ill, unknown):
        covered(of, now - timedelta(hours=12), now)
    page = viewer.get("/")
    trends = {row[0].pk: row[4] for row in page.context["rows"]}
    healths = [health for health, _tone in trends[ill.pk]]
    assert healths[0] is None and healths[-1] == 60 and 100 in healths
    assert healths.count(60) <= 3
    assert trends[unjudged.pk] is None and trends[unknown.pk] is None
    assert "lowest 60, now 60" in page.content.decode()


def test_the_size_of_the_state_is_drawn_from_what_its_hours_had(viewer, now):
    of = job(at=now)
    for hours, size in ((5, 1_000_000), (3, 4_000_000), (1, 2_000_000)):
        rollup(of, now - timedelta(hours=hours), size)
    assert "from 1.0 MB to 2.0 MB, 4.0 MB at most" in viewer.get("/").content.decode()


def rollup(of, at, size):
    none = dict.fromkeys((f"{outcome}_count" for outcome in OUTCOMES), 0)
    CheckpointRollup.objects.create(
        cluster=of.cluster,
        job_id=of.job_id,
        period="hour",
        period_start=at.replace(minute=0, second=0, microsecond=0),
        savepoint_count=0,
        state_bytes_last=size,
        as_of=at,
        **none,
    )
