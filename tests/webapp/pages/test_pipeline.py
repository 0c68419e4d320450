"""Pipeline status and account pages."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from tests.webapp import builders
from webapp.accounts.models import ApiToken
from webapp.fleet import unrecognised
from webapp.fleet.models import JobException, LogEvent
from webapp.work.models import DueWork, PipelineAlarm, PipelineRun, SkippedInput

pytestmark = pytest.mark.django_db


def _run(**fields):
    now = timezone.now()
    defaults = {
        "kind": "spark",
        "key": "spark/cycle",
        "attempt": f"a{PipelineRun.objects.count()}",
        "started_at": now,
        "state": "done",
    }
    return PipelineRun.objects.create(**{**defaults, **fields})


def test_before_the_first_run_the_page_says_that_nothing_ran(viewer):
    page = viewer.get(reverse("pipeline")).content.decode()
    assert "? never ran" in page
    assert "No run yet" in page


def test_open_alarms_come_first(viewer):
    now = timezone.now()
    DueWork.objects.create(key="collect/0", interval_s=30, next_attempt_at=now)
    PipelineAlarm.objects.create(
        code="work.waiting",
        subject="collect/0",
        detail="It is due and no worker has started it.",
        since=now,
    )
    page = viewer.get(reverse("pipeline")).content.decode()
    assert "▲ needs attention" in page
    assert page.index("no worker has started it") < page.index("Due work")


def test_a_failed_run_shows_its_error_and_the_end_of_its_log(viewer):
    failed = _run(
        state="failed",
        error="The Spark process ended with exit code 1.",
        log_tail="<b>last line</b>",
    )
    assert "exit code 1" in viewer.get(reverse("pipeline")).content.decode()
    page = viewer.get(reverse("pipeline-run", args=(failed.pk,))).content.decode()
    assert "&lt;b&gt;last line" in page


def test_counts_of_several_things_are_said_in_words(viewer):
    of_tables = {"checkpoints": {"merged": 1200, "removed": 3, "lost": 0}}
    run = _run(kind="maintain", counts={**of_tables, "deleted": {}, "restarted": "from the lake"})
    for address in (reverse("pipeline"), reverse("pipeline-run", args=(run.pk,))):
        page = viewer.get(address).content.decode()
        assert "1,200 merged, 3 removed" in page and "from the lake" in page and "none" in page
        assert "&#x27;merged" not in page and "0 lost" not in page


def test_runs_page_and_filter_by_kind(viewer):
    for n in range(30):
        _run(kind="collect" if n % 2 else "spark", started_at=timezone.now() - timedelta(minutes=n))
    first = viewer.get(reverse("pipeline")).context["runs"]
    second = viewer.get(reverse("pipeline"), {"runs": first.next_cursor}).context["runs"]
    assert (len(first.rows), len(second.rows)) == (15, 15)
    assert {
        run.kind
        for run in viewer.get(reverse("pipeline"), {"kind": "collect"}).context["runs"].rows
    } == {"collect"}


def test_every_kind_of_work_that_ran_is_a_link_above_the_runs(viewer):
    for kind in ("reports", "spark", "something-new"):
        _run(kind=kind)
    page = viewer.get(reverse("pipeline"))
    assert list(page.context["kinds"]) == ["reports", "something-new", "spark"]
    assert "kind=something-new" in page.content.decode()


def test_skipped_inputs_say_what_was_expected(viewer):
    now = timezone.now()
    SkippedInput.objects.create(
        cluster="lab",
        observed_at=now,
        subject="/overview",
        reason="bad_json",
        detail="JSON was expected.",
        as_of=now,
    )
    page = viewer.get(reverse("pipeline"), {"cluster": "lab"}).content.decode()
    assert "JSON was expected." in page and "bad json" in page
    assert (
        "Nothing was skipped"
        in viewer.get(reverse("pipeline"), {"cluster": "other"}).content.decode()
    )


def test_a_token_is_shown_once_and_works_until_revoked(viewer, client):
    page = viewer.post(
        reverse("account-token-create"), {"name": "ci", "scope": "read", "days": "30"}
    )
    text = page.context["text"]
    assert text not in viewer.get(reverse("account")).content.decode()
    ask = {"headers": {"Authorization": f"Bearer {text}"}}
    viewer.post(reverse("account-token-revoke", args=(ApiToken.objects.get().pk,)))
    viewer.logout()
    assert client.get(reverse("api-jobs-list"), **ask).status_code == 401


def test_a_viewer_cannot_make_a_token_that_writes(viewer):
    viewer.post(reverse("account-token-create"), {"name": "ci", "scope": "write", "days": "30"})
    assert not ApiToken.objects.exists()


def test_nobody_revokes_the_token_of_another(viewer, operator):
    operator.post(reverse("account-token-create"), {"name": "ci", "scope": "write", "days": "30"})
    assert (
        viewer.post(reverse("account-token-revoke", args=(ApiToken.objects.get().pk,))).status_code
        == 404
    )
    assert ApiToken.objects.exists()


def test_a_changed_password_keeps_this_session(viewer):
    new = "a long enough phrase"
    entered = {"old_password": "correct horse battery", "new_password1": new, "new_password2": new}
    assert viewer.post(reverse("account-password"), entered, follow=True).status_code == 200
    assert viewer.login(username="vera", password=new)


def test_the_theme_is_in_the_first_byte_so_nothing_flashes(viewer):
    viewer.cookies["weir_theme"] = "dark"
    assert b'<html lang="en" data-theme="dark">' in viewer.get("/").content
    viewer.cookies["weir_theme"] = '"><script>'
    assert b'<html lang="en">' in viewer.get("/").content


def test_lines_of_a_release_that_is_not_known_are_shown_with_an_example(
    viewer, django_assert_max_num_queries
):
    now = timezone.now()
    for name, version in (("old", "1.20.5"), ("new-1", "3.0.0"), ("new-2", "3.0.0")):
        builders.cluster(name, at=now, flink_version=version)
    for number in range(12):
        _unread(
            "new-1" if number % 3 else "new-2",
            now - timedelta(minutes=number),
            f"Completed checkpoint <b>{number}</b> of job",
            number,
        )
    _unread("gone", now, "Decline checkpoint 9 (x)", 1, begins="Decline checkpoint")
    _unread("old", now - timedelta(days=8), "Completed checkpoint 1 of old", 1)
    with django_assert_max_num_queries(40):
        page = viewer.get(reverse("pipeline")).content.decode()
    table = page[page.index('id="unread"') : page.index('id="skipped"')]
    assert (
        "3.0.0" in table and ">12<" in table and "new-1, new-2" in table and "1.20.5" not in table
    )
    assert "Completed checkpoint &lt;b&gt;0" in table and "<b>0" not in table
    assert [
        (group.flink_version, group.begins_as, group.lines)
        for group in unrecognised.unread_lines(now)
    ] == [
        ("3.0.0", "Completed checkpoint", 12),
        (None, "Decline checkpoint", 1),
    ]
    assert 'id="unread"' not in viewer.get(reverse("pipeline"), {"cluster": "old"}).content.decode()


def test_of_many_unread_lines_the_newest_are_counted(db, monkeypatch):
    monkeypatch.setattr(unrecognised, "MOST_LINES", 3)
    for number in range(5):
        _unread("c", timezone.now(), "Completed checkpoint x", number)
    assert [group.lines for group in unrecognised.unread_lines(timezone.now())] == [3]


def test_failures_of_unknown_cause_are_counted_and_shown_without_secrets(
    viewer, django_assert_max_num_queries
):
    now = timezone.now()
    builders.job("c", at=now, job_id="a" * 32, name="orders <b>")
    own = (
        "java.lang.IllegalStateException: order 17 password=hunter2\n"
        "\tat com.example.Enrich.map(Enrich.java:7)\n"
    )
    full = "java.lang.OutOfMemoryError: Java heap space\n\tat a.B.c(B.java:1)\n"
    for number in range(3):
        _failed("c", "a" * 32, now - timedelta(hours=number), own.replace("17", f"{number}"))
    _failed("c", "b" * 32, now, own)
    _failed("c", "b" * 32, now - timedelta(hours=1), full)
    _failed("c", "b" * 32, now - timedelta(days=8), "java.lang.Error: old\n")
    _failed("c", "b" * 32, now - timedelta(hours=2), "java.lang.Error: beside\n", is_root=False)
    with django_assert_max_num_queries(40):
        page = viewer.get(reverse("pipeline")).content.decode()
    table = page[page.index('id="unknown-causes"') : page.index('id="skipped"')]
    assert "orders &lt;b&gt;" in table and ">4<" in table
    (found,) = unrecognised.unknown_causes(now)
    assert (found.exception, found.frame, found.failures) == (
        "java.lang.IllegalStateException",
        "com.example.Enrich.map(Enrich.java:7)",
        4,
    )
    assert found.jobs == ("orders <b>", "b" * 32)
    assert "order" in found.example
    assert "hunter2" not in page
    other = viewer.get(reverse("pipeline"), {"cluster": "other"}).content.decode()
    assert 'id="unknown-causes"' not in other


def _failed(cluster, job_id, at, trace, is_root=True):
    JobException.objects.create(
        cluster=cluster,
        job_id=job_id,
        ts=at,
        task_key="t",
        exception_name=trace.partition(":")[0],
        stacktrace=trace,
        is_root=is_root,
        as_of=at,
    )


def _unread(cluster, at, message, number, begins="Completed checkpoint"):
    LogEvent.objects.create(
        cluster=cluster,
        process="jm.log",
        ts=at,
        record_hash=f"{number:032d}",
        ordinal=number,
        kind="unread_line",
        reason=begins,
        message=message,
        as_of=at,
    )
