"""Pipeline status and account pages."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from webapp.accounts.models import ApiToken
from webapp.work.models import DueWork, PipelineAlarm, PipelineRun, SkippedInput

pytestmark = pytest.mark.django_db


def _run(**fields):
    now = timezone.now()
    defaults = {"kind": "spark", "key": "spark/cycle", "attempt": f"a{PipelineRun.objects.count()}", "started_at": now, "state": "done"}
    return PipelineRun.objects.create(**{**defaults, **fields})


def test_before_the_first_run_the_page_says_that_nothing_ran(viewer):
    page = viewer.get(reverse("pipeline")).content.decode()
    assert "? never ran" in page
    assert "No run yet" in page


def test_open_alarms_come_first(viewer):
    now = timezone.now()
    DueWork.objects.create(key="collect/0", interval_s=30, next_attempt_at=now)
    PipelineAlarm.objects.create(code="work.waiting", subject="collect/0", detail="It is due and nobody takes it up.", since=now)
    page = viewer.get(reverse("pipeline")).content.decode()
    assert "▲ needs attention" in page
    assert page.index("nobody takes it up") < page.index("Due work")


def test_a_failed_run_shows_its_error_and_the_end_of_its_log(viewer):
    failed = _run(state="failed", error="The Spark process ended with exit code 1.", log_tail="<b>last line</b>")
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
    assert (len(first.rows), len(second.rows)) == (25, 5)
    assert {run.kind for run in viewer.get(reverse("pipeline"), {"kind": "collect"}).context["runs"].rows} == {"collect"}


def test_every_kind_of_work_that_ran_is_a_link_above_the_runs(viewer):
    for kind in ("reports", "spark", "something-new"):
        _run(kind=kind)
    page = viewer.get(reverse("pipeline"))
    assert list(page.context["kinds"]) == ["reports", "something-new", "spark"]
    assert "kind=something-new" in page.content.decode()


def test_skipped_inputs_say_what_was_expected(viewer):
    now = timezone.now()
    SkippedInput.objects.create(
        cluster="lab", observed_at=now, subject="/overview", reason="bad_json", detail="JSON was expected.", as_of=now
    )
    page = viewer.get(reverse("pipeline"), {"cluster": "lab"}).content.decode()
    assert "JSON was expected." in page and "bad json" in page
    assert "Nothing was skipped" in viewer.get(reverse("pipeline"), {"cluster": "other"}).content.decode()


def test_a_token_is_shown_once_and_works_until_revoked(viewer, client):
    page = viewer.post(reverse("account-token-create"), {"name": "ci", "scope": "read", "days": "30"})
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
    assert viewer.post(reverse("account-token-revoke", args=(ApiToken.objects.get().pk,))).status_code == 404
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
