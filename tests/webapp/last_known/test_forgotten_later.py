"""What somebody may see changes while Redis is away: nothing that was kept is shown, whatever becomes of the process that changed it."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis
from django.db import transaction

from tests.postgresql import migrated_database, postgresql, stopped
from tests.process_trees import frozen
from tests.valkey import valkey
from tests.webapp.config.test_frozen_redis import MAKE
from tests.webapp.last_known.test_database_away import asked
from tests.webapp.web.test_front import serving
from tests.weir_settings import WeirSettings
from webapp.config import breaker, secrets
from webapp.config.environment import PROJECT_DIR
from webapp.last_known import forgetting, to_forget
from webapp.last_known.redis_side import gone_key

WRITES = """
import django; django.setup()
from webapp.accounts import people
from webapp.accounts.models import User
user = User.objects.get(username="ada")
user.set_password("yet another password")
user.save()
user = User.objects.get(username="bob")
user.is_superuser = False
user.save(update_fields=["is_superuser"])
people.end_sessions(User.objects.get(username="eve"))
"""


def test_a_process_that_ends_before_redis_is_back_leaves_nothing_to_be_shown(tmp_path: Path) -> None:
    with postgresql() as server, valkey(tmp_path) as (socket, queue):
        variables = {
            "WEIR_DATABASE_URL": migrated_database(server, "later"),
            "WEIR_REDIS_URL": f"unix://{socket}",
            "WEIR_SECRET_KEY": secrets.new_secret_key(),
            "WEIR_FIELD_KEYS": secrets.new_field_key(),
        }
        with serving(tmp_path, **variables) as (port, _):
            run = partial(_ran, {**variables, "WEIR_HOME": str(tmp_path / "home")})
            sessions = [f"weir_session={run(MAKE.replace('ada', name)).split()[-1]}" for name in ("ada", "bob", "eve", "fay")]
            assert [asked(port, session, "/")[0] for session in sessions] == [200, 200, 200, 200]
            with frozen(queue.pid):
                run(WRITES)
            with stopped(server):
                assert [asked(port, session, "/")[0] for session in sessions] == [503, 503, 503, 200]


def _ran(variables: dict[str, str], code: str) -> str:
    environment = os.environ | variables | {"DJANGO_SETTINGS_MODULE": "webapp.config.settings"}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, cwd=PROJECT_DIR, capture_output=True, text=True, check=True)
    return ran.stdout


@pytest.fixture
def there(tmp_path: Path, settings: Any, weir: WeirSettings, monkeypatch: pytest.MonkeyPatch) -> Iterator["redis.Redis"]:
    weir(home=tmp_path / "home")
    monkeypatch.setattr(breaker, "redis", breaker.Breaker(""))
    with valkey(tmp_path) as (socket, _):
        settings.CACHES = {"default": {"BACKEND": "webapp.config.cache.ForgivingRedisCache", "LOCATION": f"unix://{socket}"}}
        yield redis.Redis(unix_socket_path=str(socket))


@pytest.mark.django_db(transaction=True)
def test_a_change_that_nobody_sees_yet_is_noted_until_it_is_seen(there: "redis.Redis") -> None:
    with transaction.atomic():
        forgetting.forget("7")
        told = float(there.get(gone_key("7")))
        assert forgetting.is_done() and [note.who for note in to_forget.notes()] == ["7"]
    assert float(there.get(gone_key("7"))) > told
    assert to_forget.notes() == []


def test_one_whose_process_died_in_between_is_told_again_and_gone_after_a_while(there: "redis.Redis") -> None:
    note = to_forget.Note.write("7", is_begun=True)
    assert forgetting.is_done() and to_forget.notes() == [note]
    long_ago = time.time() - to_forget.LONGEST_CHANGE_S - 1
    os.utime(note.path, (long_ago, long_ago))
    there.delete(gone_key("7"))
    assert forgetting.is_done() and to_forget.notes() == []
    assert there.exists(gone_key("7"))


def test_where_notes_cannot_be_read_nothing_is_shown(there: "redis.Redis", tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(exist_ok=True)
    (tmp_path / "home" / "to-forget").touch()
    forgetting.forget("7")
    assert not forgetting.is_done()
    (tmp_path / "home" / "to-forget").unlink()
    assert forgetting.is_done() and there.exists(gone_key("7"))
