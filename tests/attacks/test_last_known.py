"""Pages that are kept for a database which is away: seen by whoever was shown them, for as long as they may, and by nobody else."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis
from django.contrib.auth.models import Group
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone

from ingest.discovery.sources import DiscoverySource, FoundCluster, Listing
from tests.attacks.places import Place, places
from tests.valkey import valkey
from tests.webapp.builders import person
from tests.weir_settings import WeirSettings
from webapp.accounts import people
from webapp.accounts.models import User
from webapp.config import breaker
from webapp.fleet.choices import ClusterKind
from webapp.fleet.listed_clusters import follow
from webapp.fleet.models import Cluster, JobCurrent
from webapp.last_known import forgetting, middleware
from webapp.last_known.kept_pages import NAMES, PAGES

SECRET_WORDS = (b"csrfmiddlewaretoken", b"nonce=")
PROTECTING = ("X-Frame-Options", "Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy", "Content-Language", "Vary")
SAID = b'id="last-known"'
AWAY = "The database does not answer"
EVERYTHING = ("everything", "")


@pytest.fixture(scope="module")
def _socket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with valkey(tmp_path_factory.mktemp("valkey")) as (socket, _):
        yield socket


@pytest.fixture(autouse=True)
def kept(_socket: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator["redis.Redis"]:
    """What is kept by it. Every answer is, and nothing that is told to go takes a moment with it."""
    cache = {"BACKEND": "webapp.config.cache.ForgivingRedisCache", "LOCATION": f"unix://{_socket}"}
    settings.CACHES = {"default": {**settings.CACHES["default"], **cache}}
    monkeypatch.setattr(breaker, "redis", breaker.Breaker(""))
    monkeypatch.setattr(forgetting, "CLOCKS_DIFFER_S", 0.0)
    monkeypatch.setattr(middleware, "AGAIN_AFTER_S", 0)
    client = redis.Redis(unix_socket_path=str(_socket))
    client.flushall()
    yield client
    forgetting._owed.clear()


@contextmanager
def database_away() -> Iterator[None]:
    """Django is told so whatever it asks."""

    def refuse(*_asked: object) -> object:
        cause = sqlite3.OperationalError("unable to open database file")
        cause.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
        raise OperationalError(str(cause)) from cause

    with connection.execute_wrapper(refuse):
        yield


def browser(user: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


@pytest.fixture
def ann(inhabited: JobCurrent) -> User:
    return person("ann", operator=True)


@pytest.fixture
def root(inhabited: JobCurrent) -> User:
    return User.objects.create_superuser("root")


def shows(client: Client, path: str = "/") -> bool:
    """Whether the page is shown; whoever is shown none is told in words, and nothing of it."""
    with database_away():
        answer = client.get(path)
    if answer.status_code == 200:
        assert SAID in answer.content
        return True
    assert (answer.status_code, AWAY in answer.content.decode()) == (503, True)
    return False


def seen(client: Client, path: str = "/") -> Client:
    assert client.get(path).status_code == 200
    return client


def kept_places() -> list[Place]:
    return [place for place in places() if place.name in NAMES]


def test_all_pages_that_are_kept_say_so_and_change_nothing(ann: User) -> None:
    client, read = browser(ann), set()
    for place in kept_places():
        path, asked = place.filled(known=True), place.asks_for
        before = client.get(path, asked)
        if before.status_code != 200:
            continue
        with database_away():
            after = client.get(path, asked)
        assert (after.status_code, after["Cache-Control"]) == (200, "no-store"), place.name
        assert not any(word in after.content for word in SECRET_WORDS), place.name
        assert not after.cookies, place.name
        assert [after[header] for header in PROTECTING] == [before[header] for header in PROTECTING], place.name
        if place.name in PAGES:
            assert after.content.count(SAID) == 1 and SAID not in before.content, place.name
            assert b'<button disabled type="submit">Sign out' in after.content, place.name
        else:
            assert after.content == before.content, place.name
        read.add(place.name)
    assert read >= PAGES, PAGES - read


def test_nothing_else_is_kept(root: User, kept: Any) -> None:
    client = browser(root)
    for place in places():
        if place.name in NAMES or place.is_admin:
            continue
        path = place.filled(known=True)
        client.get(path, place.asks_for)
        assert not kept.hlen("{weir:last-known}:answers"), place.label
        if place.label != "sign-in":
            client.force_login(root)


def test_the_api_and_downloads_say_that_the_database_is_away(ann: User) -> None:
    client = browser(ann)
    for path in ("/api/v1/jobs/", "/fleet.csv", "/account/", "/clusters/"):
        assert client.get(path).status_code == 200
        with database_away():
            assert client.get(path).status_code == 503, path


def test_another_account_is_shown_nothing_of_it(ann: User) -> None:
    seen(browser(ann))
    other = browser(person("eve", operator=True))
    assert not shows(other)
    with database_away():
        assert Client().get("/")["Location"].startswith("/sign-in/")  # whoever brings no session, without a look into anything
    forged = Client(raise_request_exception=False)
    forged.cookies["weir_session"] = "a" * 32
    assert not shows(forged)
    seen(other, "/findings/")
    assert not shows(other)


def test_another_session_of_the_same_account_is(ann: User) -> None:
    seen(browser(ann), "/findings/")
    other = seen(browser(ann))
    assert shows(other, "/findings/")


def by_form(client: Client) -> None:
    client.post("/sign-out/")


def while_away(client: Client) -> None:
    with database_away():
        assert client.post("/sign-out/").status_code == 503


@pytest.mark.parametrize("leave", [by_form, while_away])
def test_whoever_signed_out_is_shown_nothing_with_the_cookie_of_before(ann: User, leave: Callable[[Client], None]) -> None:
    client = seen(browser(ann))
    cookie = client.cookies["weir_session"].value
    assert shows(client)
    leave(client)
    client.cookies["weir_session"] = cookie
    assert not shows(client)


def test_somebody_who_signs_in_over_another_ends_that_session(ann: User) -> None:
    client = seen(browser(ann))
    cookie = client.cookies["weir_session"].value
    client.post("/sign-in/", {"username": person("bob").username, "password": "correct horse battery"})
    client.get("/sign-out/")
    client.logout()
    Client().post("/sign-in/", {"username": "bob", "password": "correct horse battery"})
    again = Client(raise_request_exception=False)
    again.cookies["weir_session"] = cookie
    assert not shows(again)


ACTS: dict[str, Callable[[User, User], object]] = {
    "closed": lambda root, ann: people.close(root, ann),
    "signed out everywhere": lambda root, ann: people.sign_out(root, ann),
    "signs out everywhere": lambda root, ann: people.end_sessions(ann),
    "another password": lambda root, ann: people.new_password(root, ann),
    "another role": lambda root, ann: people.change(root, ann, "viewer", *EVERYTHING),
    "sees less": lambda root, ann: people.change(root, ann, "operator", "only", 'cluster="elsewhere"'),
    "role taken by the administration": lambda root, ann: ann.groups.clear(),
    "taken out of a group": lambda root, ann: Group.objects.get(name="operator").user_set.remove(ann),
    "group removed": lambda root, ann: Group.objects.filter(name="operator").delete(),
    "saved with another scope": lambda root, ann: User(**{**fields(ann), "sees": []}).save(),
    "removed": lambda root, ann: User.objects.get(pk=ann.pk).delete(),
}


def fields(user: User) -> dict[str, Any]:
    return {field.attname: getattr(user, field.attname) for field in user._meta.concrete_fields}


@pytest.mark.parametrize("act", ACTS)
def test_who_may_do_or_see_something_else_is_not_shown_what_was_before(root: User, ann: User, act: str) -> None:
    client = seen(browser(ann))
    assert shows(client)
    ACTS[act](root, ann)
    assert not shows(client)


def test_a_page_that_began_before_a_role_was_withdrawn_is_not_kept_after_it(root: User, ann: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = seen(browser(ann))
    began = time.time() - 1
    people.change(root, ann, "viewer", *EVERYTHING)
    monkeypatch.setattr(middleware.time, "time", lambda: began)
    seen(client)
    monkeypatch.undo()
    assert not shows(client)


def test_a_session_that_was_ended_gains_nothing_from_pages_of_the_next(root: User, ann: User) -> None:
    stolen = seen(browser(ann))
    people.sign_out(root, ann)
    ann.refresh_from_db()
    time.sleep(0.01)
    own = seen(browser(ann))
    assert shows(own)
    assert not shows(stolen)


def by_hand(cluster: Cluster) -> None:
    cluster.labels = {"team": "b"}
    cluster.save(update_fields=["labels"])


def by_its_source(cluster: Cluster) -> None:
    Cluster.objects.filter(pk=cluster.pk).update(found_by="yard")
    follow(DiscoverySource("yard"), Listing((FoundCluster(cluster.name, cluster.url, {"team": "b"}),)), timezone.now())


@pytest.mark.parametrize("relabel", [by_hand, by_its_source, lambda cluster: cluster.delete()])
def test_who_sees_a_cluster_by_its_labels_is_shown_nothing_of_it_once_they_change(ann: User, relabel: Callable[[Cluster], object]) -> None:
    Cluster.objects.update(labels={"team": "a"})
    User.objects.filter(pk=ann.pk).update(sees=[[{"label": "team", "operator": "=", "value": "a"}]])
    of_all = seen(browser(person("olga")))
    client = seen(browser(User.objects.get(pk=ann.pk)))
    assert shows(client)
    relabel(Cluster.objects.filter(kind=ClusterKind.LIVE)[0])
    assert not shows(client)
    assert shows(of_all)


def test_a_session_that_is_over_is_shown_nothing(ann: User, weir: WeirSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    weir(session_idle_s=600)
    client = seen(browser(ann))
    now = time.time()
    monkeypatch.setattr(middleware.time, "time", lambda: now + 500)
    assert shows(client)
    monkeypatch.setattr(middleware.time, "time", lambda: now + 601)
    assert not shows(client)


def test_what_could_not_be_forgotten_is_before_anything_is_shown_again(root: User, ann: User) -> None:
    client = seen(browser(ann))
    breaker.redis.open()
    people.change(root, ann, "viewer", *EVERYTHING)
    breaker.redis.close()
    assert not shows(client)
    time.sleep(0.01)
    assert shows(seen(client))


def test_a_page_with_a_message_is_shown_once(ann: User) -> None:
    client = browser(ann)
    client.post("/alerts/acknowledge", {})
    assert b'class="banner' in client.get("/alerts/").content
    assert not shows(client, "/alerts/")


def test_neither_the_key_of_a_session_nor_a_token_lies_in_redis(ann: User, kept: Any) -> None:
    client = seen(browser(ann))
    everything = b"".join(kept.dump(key) or b"" for key in kept.keys("*")) + b"".join(kept.keys("*"))
    assert client.cookies["weir_session"].value.encode() not in everything
