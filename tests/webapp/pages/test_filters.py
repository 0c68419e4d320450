"""A wrong value of a filter: the same rule behind every door.

Nothing is selected, and what is accepted is named.
"""

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone
from rest_framework.test import APIClient

from tests.webapp.builders import cluster, finding, job, person
from webapp.accounts.models import ApiToken
from webapp.findings.models import Finding

pytestmark = pytest.mark.django_db
WRONG = (
    ("fleet", "jobs", "sort", "--name", "-duration"),
    ("findings", "findings", "severity", "nice", "critical"),
    ("findings", "findings", "from", "yesterday", "now-6h"),
    ("findings", "findings", "cluster", "a\x00", "without NUL"),
    ("alerts", "alerts", "acknowledged", "perhaps", "true or false"),
    ("alerts", "alerts", "state", "x", "firing"),
    ("reports", "reports", "state", "x", "queued"),
    ("cleanup-plans", "cleanup-plans", "state", "x", "approved"),
)


@pytest.fixture
def now():
    at = timezone.now()
    cluster(at=at)
    cluster("other", at=at)
    return at


@pytest.fixture
def api() -> APIClient:
    client = APIClient()
    client.credentials(
        HTTP_AUTHORIZATION=f"Bearer {ApiToken.objects.issue(person('robot'), 'test')[1]}"
    )
    return client


@pytest.mark.parametrize(("page", "listed", "name", "value", "accepted"), WRONG)
def test_page_and_api_name_parameter_value_and_what_is_accepted(
    viewer, api, page, listed, name, value, accepted
):
    answer = api.get(reverse(f"api-{listed}-list"), {name: value})
    assert answer.status_code == 400
    ((found, (message,)),) = answer.json()["error"]["fields"].items()
    assert found == name and repr(value) in message and accepted in message
    shown = viewer.get(reverse(page), {name: value})
    assert shown.status_code == 200
    filters = shown.context["filters"]
    assert filters.errors[name] == [message] and not filters.qs
    assert accepted in shown.content.decode()


def test_a_wrong_time_of_a_list_is_not_said_to_be_replaced_by_another(viewer, now):
    page = viewer.get("/findings/", {"from": "yesterday"}).content.decode()
    assert "write now-6h" in page and "Shown instead" not in page
    assert (
        "Shown instead"
        in viewer.get(
            f"/jobs/{job(at=now).cluster}/{'a' * 32}/", {"from": "yesterday"}, follow=True
        ).content.decode()
    )


def test_a_list_that_nobody_narrowed_by_time_shows_no_range_as_chosen(viewer, now):
    assert 'aria-current="true">6 h' not in viewer.get("/findings/").content.decode()
    assert (
        'aria-current="true">6 h'
        in viewer.get("/findings/", {"from": "now-6h", "to": "now"}).content.decode()
    )
    one = job(at=now)
    assert (
        'aria-current="true">6 h'
        in viewer.get(f"/jobs/{one.cluster}/{one.job_id}/").content.decode()
    )


def test_a_download_with_a_wrong_value_is_refused(viewer):
    answer = viewer.get(reverse("fleet-export"), {"state": "x" * 501, "status": "gone"})
    assert answer.status_code == 400
    assert "cannot be used" in answer.content.decode() and answer.headers[
        "Content-Type"
    ].startswith("text/plain")


@pytest.mark.parametrize(
    ("command", "option"),
    [("findings", "--from"), ("checkpoints", "--to")],
)
def test_a_command_with_a_wrong_value_is_refused(command, option):
    with pytest.raises(CommandError, match="write now-6h") as refused:
        call_command(command, option, "yesterday")
    assert refused.value.returncode == 2


def test_former_names_are_taken_by_page_and_api(viewer, api, now):
    mine, other = job(at=now), job("other", at=now)
    finding(mine, at=now, title="mine")
    finding(other, at=now, title="another")
    for name in ("job", "job_id"):
        rows = api.get("/api/v1/findings/", {name: mine.job_id, "cluster": mine.cluster}).json()[
            "results"
        ]
        assert [row["title"] for row in rows] == ["mine"]
        page = viewer.get("/findings/", {name: mine.job_id, "cluster": mine.cluster}).context[
            "page"
        ]
        assert [row.title for row in page.rows] == ["mine"]


def test_the_api_tells_empty_from_absent(api, now):
    """Findings of the storage have no job; a form of a page that leaves a field empty means all."""
    finding(job(at=now), at=now)
    Finding.objects.update(job_id="")
    assert len(api.get("/api/v1/findings/", {"job_id": ""}).json()["results"]) == 1
    assert api.get("/api/v1/findings/", {"severity": ""}).status_code == 400


def test_jobs_come_in_the_order_of_the_page_where_one_is_chosen(viewer, api, now):
    for name, size in (("a", 5), ("b", 9), ("c", 7)):
        job(at=now, name=name, state_bytes=size)
    rows = api.get("/api/v1/jobs/", {"sort": "-size", "page_size": 2}).json()
    assert [row["name"] for row in rows["results"]] == ["b", "c"]
    assert [row["name"] for row in api.get(rows["next"]).json()["results"]] == ["a"]
