"""Clean-up plans over the API, and which tokens may approve."""

from pathlib import Path

import pytest
from rest_framework.test import APIClient

from tests.webapp.builders import person
from tests.webapp.cleanup import stored
from tests.webapp.cleanup.worlds import World
from webapp.accounts.models import ApiToken
from webapp.cleanup.choices import PlanState
from webapp.cleanup.models import CleanupPlan

PLANS = "/api/v1/cleanup-plans/"


def client(scope: str, *, operator: bool = True, is_superuser: bool = False) -> APIClient:
    user = person(f"{scope}-{operator}-{is_superuser}", operator=operator)
    user.is_superuser = is_superuser
    user.save()
    made = APIClient()
    made.credentials(HTTP_AUTHORIZATION=f"Bearer {ApiToken.objects.issue(user, 'robot', scope)[1]}")
    return made


@pytest.fixture
def plan(audited: World) -> CleanupPlan:
    return stored.made(audited)


def test_plans_and_their_files_are_read(plan: CleanupPlan, orphan: Path) -> None:
    api = client("read", operator=False)
    (listed,) = api.get(PLANS).json()["results"]
    assert listed["name"] == plan.name == api.get(f"{PLANS}{plan.pk}/").json()["name"]
    (file,) = api.get(f"{PLANS}{plan.pk}/files/").json()["results"]
    assert file["path"] == f"file:{orphan}" and file["reason"] == "unreferenced"
    assert api.get(f"{PLANS}{plan.pk}/journal/").json()["results"] == []
    assert api.get(f"{PLANS}{plan.pk}/journal/?verb=x").status_code == 400
    assert api.get(f"{PLANS}999/files/").status_code == 404


@pytest.mark.parametrize(
    ("scope", "operator", "is_superuser", "code"),
    [
        ("read", True, True, 403),
        ("write", True, True, 403),
        ("approve", True, False, 403),
        ("approve", True, True, 200),
    ],
)
def test_a_token_approves_only_with_that_scope_and_the_persons_right(
    plan: CleanupPlan, scope: str, operator: bool, is_superuser: bool, code: int
) -> None:
    answer = client(scope, operator=operator, is_superuser=is_superuser).post(
        f"{PLANS}{plan.pk}/approve/"
    )
    plan.refresh_from_db()
    assert answer.status_code == code
    assert (plan.state == PlanState.APPROVED) == (code == 200)
    assert ("token robot" in plan.approved_through) == (code == 200)


def test_a_plan_is_asked_for_applied_and_undone(
    plan: CleanupPlan, audited: World, orphan: Path
) -> None:
    api = client("write")
    made = api.post(PLANS, {"roots": [audited.uri]}, format="json")
    assert made.status_code == 202 and made.json()["state"] == "building"
    refused = api.post(f"{PLANS}{plan.pk}/order/", {"verb": "apply"}, format="json")
    assert refused.status_code == 409 and "not approved" in refused.json()["error"]["message"]
    client("approve", is_superuser=True).post(f"{PLANS}{plan.pk}/approve/")
    assert api.post(f"{PLANS}{plan.pk}/order/", {"verb": "apply"}, format="json").status_code == 202
    stored.done(plan)
    (row,) = api.get(f"{PLANS}{plan.pk}/journal/").json()["results"]
    assert row["outcome"] == "quarantined" and not orphan.exists()
    api.post(f"{PLANS}{plan.pk}/order/", {"verb": "undo"}, format="json")
    stored.done(plan)
    assert orphan.exists()


def test_an_unknown_root_is_refused_in_words(audited: World) -> None:
    answer = client("write").post(PLANS, {"roots": ["s3://nowhere"]}, format="json")
    assert answer.status_code == 409 and "audit_storage" in answer.json()["error"]["message"]
