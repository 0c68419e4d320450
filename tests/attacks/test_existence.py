"""What others have and what nobody has are answered alike: who may not see a cluster, a job, a host,
a root or an alert cannot find out whether there is one, by any address or parameter.
"""

import re
from urllib.parse import quote

import pytest
from django.core.cache import cache
from django.test import Client

from tests.attacks.places import Place
from tests.attacks.scale import examples
from tests.attacks.test_scopes import CANARY, Theirs, scoped, theirs
from tests.attacks.test_values import watched
from webapp.accounts.roles import Role
from webapp.fleet.models import JobCurrent

__all__ = ["theirs"]

OPEN = {"monitoring-file", "documentation"}
"""What is the same whoever asks."""
NO_NAMES = {"rule_id", "form", "verb", "app_label", "content_type_id", "vertex_id"}


def nobodys(value: str) -> str:
    """Of the same form."""
    for form, other in (
        ("[0-9a-f]{32}", "e" * 32),
        ("[0-9]{13}", "1700000000000"),
        ("[0-9]+", "987654"),
        ("[a-z]{3}_[a-z0-9]{26}", value[:4] + "a" * 26),
    ):
        if re.fullmatch(form, value):
            return other
    return f"{value}-of-nobody"


def elsewhere(place: Place, path: str) -> str:
    """The same address of what nobody has."""
    written = re.sub(r"%\\\(\w+\\\)s", "(.+?)", re.escape(place.template))
    found = re.fullmatch(written, path)
    assert found is not None
    values = zip(place.parameters, found.groups(), strict=True)
    return place.template % {
        name: value if name in NO_NAMES else quote(nobodys(value)) for name, value in values
    }


@pytest.mark.parametrize("role", (Role.VIEWER, Role.ADMIN)[: examples(1, 2)])
def test_what_others_have_is_answered_as_what_nobody_has(theirs: Theirs, role: Role) -> None:
    client, tried, differ = Client(raise_request_exception=False), 0, []
    client.force_login(scoped(role))
    job = JobCurrent.objects.get(cluster=CANARY)
    names = {
        "job_id": job.job_id,
        "job": f"{CANARY}/{job.job_id}",
        "host": "host-1",
        "label": 'team="payments"',
        **dict.fromkeys(("uri", "root", "path"), theirs.root),
    }

    def status(path: str, query: dict[str, str]) -> int:
        cache.clear()
        return client.get(path, query).status_code

    doors = [door for door in theirs.doors if door[0].name not in OPEN and "rest" not in door[1]]
    for place, path, query in doors[:: examples(8, 1)]:
        with watched() as read:
            there = status(path, query)
        pairs = {path: (there, status(elsewhere(place, path), query))} if place.parameters else {}
        for name in sorted(read - {"rule", "from", "to", "label"}):
            value = names.get(name, CANARY)
            pairs[f"{path}?{name}"] = (
                status(path, {**query, name: value}),
                status(path, {**query, name: nobodys(value)}),
            )
        tried += len(pairs)
        differ += [(asked, *pair) for asked, pair in pairs.items() if len(set(pair)) > 1]
    assert tried >= examples(60, 600)
    assert not differ
