"""A running web server whose PostgreSQL is frozen, or killed: pages that were looked at are shown within two seconds, with their age."""

import http.client
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from functools import partial
from pathlib import Path

import pgserver
import pytest

from tests.postgresql import killed, migrated_database, postgresql, stopped
from tests.valkey import valkey
from tests.webapp.config.test_frozen_redis import MAKE
from tests.webapp.config.test_silent_database import ANSWERS_WITHIN_S
from tests.webapp.web.test_front import serving, wait_for
from webapp.config import secrets
from webapp.config.environment import PROJECT_DIR

PAGES = ("/", "/findings/", "/alerts/", "/incidents/", "/storage/", "/hosts/", "/growth/")
NEVER_SEEN = "/findings/?severity=critical"
NOT_KEPT = ("/pipeline/", "/account/", "/fleet.csv")


@pytest.mark.parametrize("harmed", [stopped, killed])
def test_pages_are_shown_as_they_last_were_and_are_of_the_present_afterwards(
    tmp_path: Path, harmed: Callable[[pgserver.PostgresServer], AbstractContextManager[None]]
) -> None:
    with postgresql() as server, valkey(tmp_path) as (socket, _):
        variables = {
            "WEIR_DATABASE_URL": migrated_database(server, "away"),
            "WEIR_REDIS_URL": f"unix://{socket}",
            "WEIR_SECRET_KEY": secrets.new_secret_key(),
            "WEIR_FIELD_KEYS": secrets.new_field_key(),
        }
        environment = os.environ | variables | {"WEIR_HOME": str(tmp_path / "made"), "DJANGO_SETTINGS_MODULE": "webapp.config.settings"}
        made = subprocess.run([sys.executable, "-c", MAKE], env=environment, cwd=PROJECT_DIR, capture_output=True, text=True, check=True)
        with serving(tmp_path, **variables) as (port, _):
            ask = partial(asked, port, f"weir_session={made.stdout.split()[-1]}")
            assert {ask(path)[0] for path in (*PAGES, *NOT_KEPT)} == {200}
            assert "last-known" not in ask("/")[1]
            with harmed(server):
                began = time.monotonic()
                for path in PAGES:
                    status, page, age_s = ask(path)
                    assert status == 200 and 'id="last-known" role="status"' in page, path
                    assert re.search(r"has not answered since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", page), path
                    assert 0 <= int(age_s or -1) <= time.monotonic() - began + 120, path
                assert {ask(path)[0] for path in (NEVER_SEEN, *NOT_KEPT, "/api/v1/jobs/")} == {503}
                assert asked(port, "weir_session=another0another0another0another0", "/")[0] == 503
            wait_for(lambda: "last-known" not in ask("/")[1] and ask("/pipeline/")[0] == 200, 60)


def asked(port: int, cookie: str, path: str) -> tuple[int, str, str | None]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWERS_WITHIN_S)) as connection:
        connection.request("GET", path, headers={"Cookie": cookie})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), answer.headers["Age"]
