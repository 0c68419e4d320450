"""Somebody without a sign-in tries every door of the house, in every way HTTP knows, with names
that are there and that are not.

Only what :data:`OPEN` lists may answer; everything else leads to the sign-in or is refused, and
nothing breaks.
"""

import re

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from tests.attacks.places import FEWEST, Place, content_of, places
from tests.attacks.scale import FULL

METHODS = ("get", "head", "post", "put", "patch", "delete", "options", "trace")
OPEN = {
    "/healthz": {200},
    "/readyz": {200, 503},
    "/sign-in/": {200, 403, 405},
    "/language/": {302, 400, 403, 405},  # a cookie of whoever asks, and no row
    "/sign-in/oidc/": {404, 405},  # no provider is set; with one, tests/webapp/accounts/oidc
    "/sign-in/oidc/back/": {404, 405},
    "/api/v1/%(rest)s": {404},
}
"""Doors for everybody, and what they may answer.

Nothing else may: what is new needs a sign-in, or a line here that somebody reads.
"""
STATIC = (
    "/static/css/base.css",
    "/static/no-such-file",
    "/static/../manage.py",
    "/static/%2e%2e/manage.py",
    "/static//etc/passwd",
)
HEADERS = {
    "HTTP_ACCEPT": "*/*",
    "HTTP_X_FORWARDED_FOR": "127.0.0.1",
    "HTTP_X_ORIGINAL_URL": "/",
    "HTTP_X_REWRITE_URL": "/healthz",
}


def asked(client: Client, method: str, path: str) -> int:
    answer = getattr(client, method)(path, **HEADERS)
    leads_in = answer.status_code in (301, 302) and re.match(
        r"/sign-in/\?next=", answer.headers["Location"]
    )
    return 401 if leads_in else answer.status_code


def allowed(place: Place) -> set[int]:
    return OPEN.get(place.template, {401, 403, 405})


@pytest.mark.parametrize("method", METHODS)
def test_no_door_opens_without_a_sign_in(inhabited: object, method: str) -> None:
    client = Client(raise_request_exception=False)
    tried, opened = 0, []
    for place in places():
        for known in (True, False) if FULL or method == "get" else (True,):
            path = place.filled(known=known)
            status = asked(client, method, path)
            tried += 1
            if status not in allowed(place):
                opened.append((method, path, status))
    assert tried >= FEWEST
    assert not opened


@pytest.mark.parametrize("path", STATIC)
def test_static_files_are_those_that_are_meant_for_everybody(
    path: str, db: None, settings: Settings
) -> None:
    settings.WHITENOISE_AUTOREFRESH = False  # as they are served
    answer = Client(raise_request_exception=False).get(path)
    content = content_of(answer)
    assert (answer.status_code == 200) == (path == STATIC[0])
    assert b"DJANGO_SETTINGS_MODULE" not in content and b"root:" not in content
