"""Cursors that nobody was given, on every list there is: the API says what is wrong with them,
pages start at their beginning.
"""

import base64
import json
from collections.abc import Collection
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import get_resolver, reverse
from django.utils import timezone
from rest_framework.test import APIClient

from tests.attacks.scale import FULL
from tests.webapp.builders import cluster, job, person
from tests.webapp.storage.builders import ROOT, whole_audit
from webapp.accounts.models import ApiToken

pytestmark = pytest.mark.django_db

AT = {"at": "2026-03-01T00:00:00+00:00"}
NO_KEYS: tuple[Any, ...] = (
    None,
    True,
    "",
    "abc",
    "\ud800",
    "\x00",
    1.5,
    float("inf"),
    float("nan"),
    2**63,
    -(2**63) - 1,
    10**40,
    [],
    {},
    {"at": 1},
    {"at": "2026-03-01"},
    {"at": "0001-01-01T00:00:00+14:00"},
    {"at": "9999-12-31T23:59:59-14:00"},
    {"at": "\ud800"},
)
"""No column of this kind is the last key of any list: that is a row's number."""


def cursor(document: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(document).encode()).decode().rstrip("=")


def crafted() -> list[str]:
    raw = [
        b"[false,[1e400]]",
        b'["abc","abc"]',
        b"[" * 4_000,
        b"[false,[" + b"9" * 5_000 + b"]]",
        b"\xff\xfe",
        b"{}",
        b"[]",
        b"null",
    ]
    odd: list[Any] = [
        [False],
        [False, [1], 2],
        [1, [1]],
        [False, {"a": 1}],
        [False, "1"],
        "x",
        [None, [AT, 1]],
        [False, [1] * 9],
    ]
    keys = (
        [[value] for value in NO_KEYS]
        + [[AT, value] for value in NO_KEYS]
        + [[1, value] for value in NO_KEYS[:8]]
    )
    keys += [[1, AT, value] for value in NO_KEYS[:8]] + [
        [value, 1] for value in NO_KEYS if value not in (1.5, "", "abc")
    ]
    found = [base64.urlsafe_b64encode(one).decode() for one in raw]
    return [
        *found,
        *(cursor(one) for one in odd),
        *(cursor([False, one]) for one in keys),
        "%",
        "é",
        "====",
        "\x00",
        "x" * 9_000,
    ]


def tried_on(lists: Collection[str], name: str) -> list[str]:
    """An eighth of them, others on each list next to it; in full all of them on every list."""
    return crafted() if FULL else crafted()[list(lists).index(name) % 8 :: 8]


API_LISTS = sorted(
    name
    for name in map(str, get_resolver().reverse_dict)
    if name.startswith("api-") and name.endswith("-list")
)
PAGES = {
    **{
        f"fleet by {sort}": (f"/?sort={sort}", "cursor")
        for sort in ("health", "name", "duration", "size")
    },
    **{
        f"findings {state}": (f"/findings/?state={state}", "cursor") for state in ("open", "closed")
    },
    **{f"alerts {state}": (f"/alerts/?state={state}", "cursor") for state in ("open", "any")},
    "silences": ("/alerts/silences/", "cursor"),
    "endpoints": ("/alerts/endpoints/", "cursor"),
    "deliveries": ("/alerts/deliveries/", "cursor"),
    "reports": ("/reports/", "cursor"),
    "clean-up plans": ("/storage/plans/", "cursor"),
    "runs": ("/pipeline/", "runs"),
    "skipped": ("/pipeline/", "skips"),
    "checkpoints of a job": (f"/jobs/prod-eu/{1:032x}/", "checkpoints"),
    "events of a job": (f"/jobs/prod-eu/{1:032x}/", "events"),
    **{
        f"{part} of a root": (f"/storage/root/?uri={ROOT}", part)
        for part in ("jobs", "checkpoints", "missing")
    },
}


def test_every_list_of_the_api_is_tried() -> None:
    assert len(API_LISTS) > 30


@pytest.mark.parametrize("name", API_LISTS)
def test_the_api_says_what_is_wrong_with_a_cursor(name: str) -> None:
    client, robot = APIClient(), person("robot")
    robot.groups.add(Group.objects.get(name="admin"))
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {ApiToken.objects.issue(robot, 'test')[1]}")
    for one in tried_on(API_LISTS, name):
        answer = client.get(reverse(name), {"cursor": one})
        assert answer.status_code == 400, (one, answer.status_code)
        assert list(answer.json()["error"]["fields"]) == ["cursor"]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_starts_at_its_beginning(viewer: Client, name: str) -> None:
    at = timezone.now()
    cluster(at=at)
    job(at=at, job_id=f"{1:032x}")
    whole_audit()
    address, parameter = PAGES[name]
    first = address.partition("?")[0]
    for one in tried_on(PAGES, name):
        answer = viewer.get(address, query_params={**_asked(address), parameter: one})
        starts_again = (
            answer.status_code == 302 and answer.headers["Location"].partition("?")[0] == first
        )
        assert starts_again or answer.status_code == 200, (one, answer.status_code)


def _asked(address: str) -> dict[str, str]:
    query = address.partition("?")[2]
    return dict(pair.split("=", 1) for pair in query.split("&")) if query else {}
