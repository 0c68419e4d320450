"""How much is kept of pages, and for how long: bounded by one, by account, in all and in time."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from tests.valkey import valkey
from tests.weir_settings import WeirSettings
from webapp.config import breaker
from webapp.last_known import answers, forgetting
from webapp.last_known.answers import Answer, answer_name, find, keep, missed_since
from webapp.last_known.redis_side import AGES, ANSWERS, AWAY, BYTES, EVERYBODY
from webapp.last_known.viewers import Viewer, known

SESSION = "session-a"
HTML = "text/html; charset=utf-8"


@pytest.fixture(scope="module")
def socket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with valkey(tmp_path_factory.mktemp("valkey")) as (socket, _):
        yield socket


@pytest.fixture(autouse=True)
def there(socket: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> "redis.Redis":
    settings.CACHES = {"default": {"BACKEND": "webapp.config.cache.ForgivingRedisCache", "LOCATION": f"unix://{socket}"}}
    monkeypatch.setattr(breaker, "redis", breaker.Breaker(""))
    monkeypatch.setattr(forgetting, "_owed", set())
    client = redis.Redis(unix_socket_path=str(socket))
    client.flushall()
    return client


def viewer(account: str = "7", **fields: Any) -> Viewer:
    now = time.time()
    return Viewer(**{"account": account, "version": "v", "is_scoped": False, "seen_at": now, "until": now + 600} | fields)


def kept(path: str, account: str = "7", body: bytes = b"page", at: float | None = None, session: str = SESSION) -> bool:
    of = viewer(account)
    return keep(session, of, answer_name(of, path), Answer(HTML, body, at or time.time()))


def is_found(path: str, account: str = "7") -> bool:
    of = viewer(account)
    return find(SESSION, of, answer_name(of, path), time.time()) is not None


def test_what_was_kept_comes_back_as_it_was() -> None:
    body = os.urandom(1000)
    assert kept("/", body=body)
    of = viewer()
    answer = find(SESSION, of, answer_name(of, "/"), time.time())
    assert answer is not None and (answer.body, answer.content_type) == (body, HTML)


def test_a_larger_one_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MOST_BYTES_OF_ONE", 5_000)
    assert not kept("/", body=os.urandom(6_000))
    assert kept("/", body=bytes(6_000))


def test_of_an_account_the_oldest_gives_way_and_of_another_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MOST_OF_ACCOUNT", 2)
    at = time.time()
    kept("/other", "8", at=at - 10)
    for place, path in enumerate(("/a", "/b", "/a", "/c")):
        kept(path, at=at - 4 + place)
    assert [is_found(path) for path in ("/a", "/b", "/c")] == [True, False, True]
    assert is_found("/other", "8")


def test_of_all_the_oldest_give_way(there: "redis.Redis", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MOST_BYTES", 10_000)
    at = time.time()
    for place in range(20):
        kept("/", str(place), os.urandom(900), at - 20 + place)
    assert [is_found("/", str(place)) for place in (0, 9, 10, 19)] == [False, False, True, True]
    held = [len(one) for one in there.hvals(ANSWERS)]
    assert int(there.get(BYTES)) == sum(held) <= 10_000
    assert there.zcard(AGES) == len(held)


def test_what_is_too_old_is_not_found_and_goes_with_the_next(there: "redis.Redis", weir: WeirSettings) -> None:
    weir(last_known_h=1)
    kept("/old", at=time.time() - 3601)
    assert not is_found("/old")
    kept("/new")
    assert there.hlen(ANSWERS) == 1
    assert 0 < there.ttl(ANSWERS) <= 3600


def test_switched_off_nothing_is_kept(there: "redis.Redis", weir: WeirSettings) -> None:
    weir(last_known_h=0)
    assert not kept("/")
    assert not there.keys("*")


def test_the_first_moment_without_the_database_is_told_until_a_page_is_kept_again(there: "redis.Redis") -> None:
    assert missed_since(100.0) == missed_since(200.0) == 100.0
    kept("/")
    assert not there.exists(AWAY)
    assert missed_since(300.0) == 300.0


def test_all_that_is_kept_of_an_account_goes_with_one_word_and_the_sums_with_it(there: "redis.Redis") -> None:
    kept("/a")
    kept("/b", "8")
    forgetting.forget_session(None)
    forgetting._now("7")
    assert (is_found("/a"), is_found("/b", "8")) == (False, True)
    assert int(there.get(BYTES)) == sum(len(one) for one in there.hvals(ANSWERS))
    forgetting._now(EVERYBODY)
    assert not there.exists(ANSWERS, AGES, BYTES)
    kept("/b", "8", at=time.time() - 1)
    assert not is_found("/b", "8")


def test_a_session_is_known_by_its_account_until_it_ends() -> None:
    kept("/")
    now = time.time()
    found = known(SESSION, now)
    assert found is not None and found.account == "7"
    assert known(SESSION, now + 601) is None
    assert known("session-b", now) is None


def test_without_redis_nothing_is_kept_nothing_found_and_nothing_breaks(settings: Any, tmp_path: Path) -> None:
    settings.CACHES = {"default": {"BACKEND": "webapp.config.cache.ForgivingRedisCache", "LOCATION": f"unix://{tmp_path}/nobody"}}
    assert not kept("/")
    assert not is_found("/")
    assert known(SESSION, time.time()) is None
    assert missed_since(5.0) == 5.0
