"""The palette and its page: what somebody types or pastes leads to where it is shown."""

from html import unescape
from time import process_time

import pytest
from django.urls import resolve
from django.utils import timezone

from tests.webapp.builders import cluster, fact, finding, job, person
from tests.webapp.hosts.builders import runs_on
from webapp.findings.models import FindingHost
from webapp.lib.instants import epoch_ms
from webapp.site.palette.hits import MOST_OF_GROUP
from webapp.site.palette.quotes import EXCEPTION

pytestmark = pytest.mark.django_db
QUERIES = 12
"""Session, user, role, state of the data; two of hosts; jobs by name, jobs by the name before the
number, checkpoints, jobs of a line.
"""


@pytest.fixture
def now():
    at = timezone.now()
    cluster(at=at)
    return at


def found(client, text, **headers):
    """Group → titles and addresses of its links, or why there are none."""
    answer = client.get("/find/", {"q": text}, headers={"HX-Request": "true", **headers})
    assert answer.status_code == 200
    return {
        group.title: [(hit.title, hit.url) for hit in group.hits] or group.note
        for group in answer.context["groups"]
    }


def test_a_part_of_the_name_or_the_beginning_of_the_id_finds_a_job(viewer, now):
    one = job(at=now, name="payments-enrich", job_id="ab" * 16)
    _other = job(at=now, name="clickstream")
    address = f"/jobs/{one.cluster}/{one.job_id}/"
    assert found(viewer, "ENRICH")["Jobs"] == [("payments-enrich", address)]
    assert found(viewer, "ABABAB")["Jobs"] == [("payments-enrich", address)]


def test_a_number_behind_a_name_leads_to_that_checkpoint_of_the_jobs_that_have_it(viewer, now):
    one = job(at=now, name="payments-enrich")
    other = job(at=now, name="payments-out", job_id="d" * 32)
    kept = fact(one, 41, now)
    fact(other, 40, now)
    address = f"/jobs/{one.cluster}/{one.job_id}/checkpoints/41/{epoch_ms(kept.trigger_time)}/"
    for text in ("payments 41", "payments #41", "payments chk-41"):
        assert found(viewer, text)["Checkpoints"] == [("payments-enrich, checkpoint 41", address)]
    assert viewer.get(address).status_code == 200
    note = "No checkpoint 42 of these jobs is stored."
    assert found(viewer, "payments 42")["Checkpoints"] == note


def test_a_number_is_found_before_and_behind_the_name_and_of_each_submission(viewer, now):
    old = job(at=now, name="payments", job_id="d" * 32, terminal=True)
    job(at=now, name="payments")
    kept = fact(old, 812, now)
    address = f"/jobs/{old.cluster}/{old.job_id}/checkpoints/812/{epoch_ms(kept.trigger_time)}/"
    for text in ("payments chk 812", "812 payments", "checkpoint 812 payments"):
        assert found(viewer, text)["Checkpoints"] == [("payments, checkpoint 812", address)]


def test_a_job_that_was_submitted_again_is_one_row_that_says_so_the_sickest_first(viewer, now):
    for number in range(3):
        job(at=now, name="payments-out", job_id=f"{number:032x}", terminal=number > 0, health=90)
    job(at=now, name="payments-in", job_id="d" * 32, health=20)
    (group,) = (
        one
        for one in viewer.get("/find/", {"q": "payments"}).context["groups"]
        if one.title == "Jobs"
    )
    assert [hit.title for hit in group.hits] == [
        "payments-in",
        "payments-out",
        "All of them in the fleet",
    ]
    assert group.hits[1].detail.endswith("the newest of 3 submissions")
    assert group.hits[2].url == "/?q=payments"


def test_an_analysis_is_found_behind_the_name_of_its_job_and_alone_on_a_page_of_it(viewer, now):
    one = job(at=now, name="payments")
    address = f"/jobs/{one.cluster}/{one.job_id}/threads/"
    here = {"HX-Current-URL": f"http://testserver/jobs/{one.cluster}/{one.job_id}/"}
    assert found(viewer, "payments threads")["Analyses"] == [("Threads", address)]
    assert found(viewer, "threads", **here)["Analyses"] == [("Threads", address)]
    assert "Analyses" not in found(viewer, "threads")


def test_hosts_that_a_critical_finding_names_come_first(viewer, now):
    of = job(at=now)
    for host in ("tm-1", "tm-2", "tm-3"):
        runs_on(host, of, now)
    for host, severity in (("tm-2", "warning"), ("tm-3", "critical")):
        row = finding(of, at=now, severity=severity, subject_id=host)
        FindingHost.objects.create(finding=row, cluster=of.cluster, host=host)
    assert [host for host, _url in found(viewer, "tm-")["Hosts"]] == ["tm-3", "tm-2", "tm-1"]


def test_settings_are_found_by_their_names_of_rules_clusters_and_the_environment(viewer, now):
    def settings(text):
        return found(viewer, text)["Settings"]

    assert settings("expired.critical_share")[0] == (
        "checkpoint.expired.critical_share",
        "/rules/checkpoint.expired/",
    )
    assert ("Prometheus address", "/clusters/") in settings("prometheus")
    assert any("WEIR_ALERT_REPEAT_S" in title for title, _url in settings("ALERT_REPEAT"))


PASTED = """java.lang.Exception: Could not perform checkpoint 7 for operator enrich (1/2)#0.
	at org.apache.flink.streaming.runtime.tasks.StreamTask.triggerCheckpoint(StreamTask.java:1)
Caused by: java.io.IOException: 100 %_full: /mnt/checkpoints
"""


def test_a_pasted_exception_finds_open_findings_that_quote_it_and_no_others(viewer, now):
    of = job(at=now)
    quoting = finding(of, at=now, title="Declined", cause="It threw: 100 %_full: /mnt/checkpoints")
    finding(of, at=now, subject_id="b", cause="It threw: 100 per cent full: /mnt/checkpoints")
    finding(of, at=now, subject_id="c", cause=quoting.cause, state="closed", closed_at=now)
    group = "Open findings that quote it"
    assert found(viewer, PASTED)[group] == [("Declined", f"/findings/{quoting.pk}/")]
    quoting.delete()
    named = finding(of, at=now, subject_id="d", data={"exception": "java.io.IOException"})
    assert [url for _t, url in found(viewer, PASTED)[group]] == [f"/findings/{named.pk}/"]
    named.delete()
    assert group not in found(viewer, PASTED)


def test_findings_that_quote_it_are_those_of_clusters_that_the_reader_sees(client, now):
    reader = person("erik")
    reader.sees = [[{"label": "cluster", "operator": "=", "value": "another"}]]
    reader.save()
    client.force_login(reader)
    finding(job(at=now), at=now, cause="It threw: 100 %_full: /mnt/checkpoints")
    assert "Open findings that quote it" not in found(client, PASTED)


def test_on_the_page_of_a_job_a_number_alone_is_of_its_checkpoints(viewer, now):
    one, other = job(at=now, name="payments"), job(at=now, name="clicks", job_id="d" * 32)
    fact(one, 7, now)
    fact(other, 7, now)
    here = {
        "HX-Current-URL": f"http://testserver/jobs/{one.cluster}/{one.job_id}/threads/?from=-1h"
    }
    assert [title for title, _url in found(viewer, "7", **here)["Checkpoints"]] == [
        "payments, checkpoint 7"
    ]
    assert found(viewer, "7") == {
        "Checkpoints": "Put the name of a job before the number, such as payments 7."
    }
    assert found(viewer, "9" * 19, **here) == {}


def test_a_part_of_the_name_finds_a_host_in_each_of_its_clusters(viewer, now):
    for name in ("prod-eu", "prod-us"):
        runs_on("flink-tm-7.rack2", job(name, at=now), now)
    links = found(viewer, "TM-7")["Hosts"]
    assert links == [
        ("flink-tm-7.rack2", f"/hosts/flink-tm-7.rack2/?cluster={name}")
        for name in ("prod-eu", "prod-us")
    ]
    assert all(viewer.get(url).status_code == 200 for _title, url in links)


def test_rules_and_pages_are_found_by_words_of_their_names(viewer, now):
    groups = found(viewer, "expired")
    assert ("/rules/checkpoint.expired/") in [url for _title, url in groups["Rules"]]
    assert found(viewer, "pipel")["Pages"] == [("Pipeline", "/pipeline/")]
    for _title, url in found(viewer, "e")["Pages"]:
        assert resolve(url)


def test_analyses_of_the_fleet_are_found_by_what_they_are_about(viewer, now):
    hits = found(viewer, "complete copy another storage")["Pages"]
    assert hits == [("Readiness for a lost site", "/readiness/")]


def test_what_is_found_nowhere_says_so_and_names_are_shown_as_text(viewer, now):
    page = viewer.get("/find/", {"q": "<script>alert(1)</script>"}).content.decode()
    assert (
        "Nothing found" in page
        and "<script>alert" not in page
        and "<script>alert(1)</script>" in unescape(page)
    )
    assert "Nothing found" not in viewer.get("/find/").content.decode()


def test_huge_and_odd_texts_are_answered(viewer, now):
    for text in (
        "x" * 200_000,
        "\x00",
        "Caused by: " * 9_000,
        "9" * 4_000,
        "\ud7ff\u202e" * 500,
        "{" * 4_000,
    ):
        assert viewer.get("/find/", {"q": text}).status_code == 200


def test_the_number_of_queries_does_not_grow_with_the_fleet(
    viewer, now, django_assert_max_num_queries
):
    for number in range(3 * MOST_OF_GROUP):
        fact(job(at=now, name=f"payments-{number}", job_id=f"{number:032x}"), 5, now)
    with django_assert_max_num_queries(QUERIES):
        groups = found(viewer, "payments 5")
    assert len(groups["Checkpoints"]) == 2 * MOST_OF_GROUP


def test_a_class_name_that_never_ends_is_looked_through_once():
    begun = process_time()
    for text in ("a." * 2_000, "a" * 4_000):
        assert not EXCEPTION.findall(text)
    assert process_time() - begun < 0.05


def test_a_class_of_an_exception_is_found_amid_a_line():
    (name,) = EXCEPTION.findall("Caused by: org.example.some1.Outer$QuotaException: too much")
    assert name == "org.example.some1.Outer$QuotaException"
