"""Somebody who sees one cluster tries every door: nothing of any other may show, in no page, list,
count, chart, export, answer or error.

All that :func:`tests.attacks.inhabited.inhabit` makes is of clusters that they do not see, under
names that nothing else has.
"""

import re
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from django.apps import apps
from django.core.cache import cache
from django.db import connection, models
from django.test import Client
from django.urls import resolve
from django.utils import timezone
from pytest_django.fixtures import Settings
from rest_framework.test import APIClient

from spark_jobs.storage_words import TWO_NAMES
from tests.attacks.inhabited import somebody
from tests.attacks.places import content_of, places
from tests.attacks.scale import FULL
from tests.attacks.unchanged import snapshot, statements, taken_back
from tests.attacks.writes import OF_SHIPPERS, api_places, form_places
from tests.selections import mostly_long
from tests.webapp.builders import cluster, fact, finding, job
from tests.webapp.storage.builders import audit, doubt, job_storage, root, root_figures
from webapp.accounts.models import ApiToken, User
from webapp.accounts.roles import Role
from webapp.alerting.models import Alert
from webapp.findings.models import Finding
from webapp.fleet.models import Cluster, JobCurrent
from webapp.growth.models import JobGrowth
from webapp.incidents.models import Incident
from webapp.lib import grants

OURS = "our-own-cluster"
OUR_ROOT = "s3://our-own-bucket/checkpoints"
TEAM = {"team": "ours"}
CANARY = "canary-of-theirs"
TEXTS = (models.CharField, models.TextField, models.JSONField)
THEIR_FILES = 918_273_645
THEIR_COUNTS = (str(THEIR_FILES), f"{THEIR_FILES:,}")
EVERYBODYS = {"/healthz", "/readyz", "api-schema"}
"""What is the same whoever asks."""

REPEATING = {"missing-file"}
"""What says what it was asked for, known or not."""


class Theirs:
    """What no answer may hold, and the addresses at which it is."""

    def __init__(self, of: JobCurrent, folder: Path) -> None:
        self.names = (CANARY, of.job_id, str(folder), *THEIR_COUNTS)
        self.doors = [
            (place, place.filled(known=True), place.asks_for)
            for place in places()
            if place.label not in EVERYBODYS and place.name not in OF_SHIPPERS
        ]
        self.doors += [
            (place, path, {name: OUR_ROOT})
            for place, path, query in self.doors
            for name in ("uri", "root")
            if name in query
        ]

    @property
    def root(self) -> str:
        return next(query["uri"] for _, _, query in self.doors if "uri" in query)

    def told_by(self, answer: Any) -> set[str]:
        content = content_of(answer)
        return self.within(content.decode(errors="replace") + repr(sorted(answer.headers.items())))

    def within(self, text: str) -> set[str]:
        # Names may break over lines where the browser chooses.
        bare = text.replace("<wbr>", "")
        return {name for name in self.names if name in bare}


@pytest.fixture
def theirs(inhabited: JobCurrent, settings: Settings) -> Theirs:
    of = inhabited
    _grown(of)
    for name in ("prod-eu", of.name or "", "host-1"):
        _rename(name, CANARY)
    found = Theirs(of, settings.WEIR.home)
    now = timezone.now()
    cluster(OURS, at=now, labels=TEAM)
    mine = job(OURS, at=now, name="our-own-job")
    fact(mine, 1, now)
    finding(mine, "checkpoint.expired", now)
    _audited_together(mine, of, f"file:{settings.WEIR.home}/ckpt")
    cache.clear()
    return found


def _audited_together(mine: JobCurrent, of: JobCurrent, their_root: str) -> None:
    """Our root and theirs by one audit, whose doubts in ours reach into theirs."""
    root(OUR_ROOT).clusters.set(Cluster.objects.filter(name=OURS))
    both = audit("both", as_of=timezone.now(), roots=[OUR_ROOT, their_root])
    root_figures(both, OUR_ROOT, doubts=2, cleanable=False, not_cleanable=["in_doubt", TWO_NAMES])
    job_storage(both, mine.job_id, OUR_ROOT, cluster=OURS)
    directory, theirs = f"{OUR_ROOT}/{mine.job_id}", f"{their_root}/{CANARY}/{of.job_id}"
    blocked = {"blocked_files": THEIR_FILES, "blocked_bytes": THEIR_FILES}
    doubt(both, f"{directory}/chk-9/_metadata", root=OUR_ROOT, **blocked)
    doubt(
        both,
        directory,
        root=OUR_ROOT,
        reason=TWO_NAMES,
        detail=f"3 files below it are also listed below {theirs}, such as {theirs}/shared/a.",
        reach="jobs",
        places=[directory, theirs, of.job_id],
        statements=[{"kind": "dead_job", "subject": "", "cluster": CANARY, "job_id": of.job_id}],
        **blocked,
    )


def _grown(of: JobCurrent) -> None:
    now = timezone.now()
    JobGrowth.objects.bulk_create(
        JobGrowth(
            cluster=of.cluster,
            job_id=of.job_id,
            name=of.name,
            attempts=[of.job_id],
            ended=False,
            window_days=days,
            known_days=8,
            state_bytes=1 << 30,
            state_bytes_per_day=1 << 20,
            as_of=now,
        )
        for days in (7, 30, 90)
    )


def _rename(old: str, new: str) -> None:
    """In every text of every table."""
    quoted = connection.ops.quote_name
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            if isinstance(field, TEXTS) and model.__module__.startswith("webapp."):
                table, column = quoted(model._meta.db_table), quoted(field.column)
                back = (
                    "jsonb"
                    if connection.vendor == "postgresql" and isinstance(field, models.JSONField)
                    else "text"
                )
                with connection.cursor() as cursor:
                    cursor.execute(
                        f"UPDATE {table} SET {column} = CAST(REPLACE(CAST({column} AS text), %s, "
                        f"%s) AS {back})",
                        [old, new],
                    )


def scoped(role: Role, written: str = f'cluster="{OURS}"') -> User:
    user = somebody(role, f"scoped-{role.group}")
    user.sees = grants.as_json(grants.parse(written))
    user.save()
    return user


def test_who_sees_everything_is_told_of_them(theirs: Theirs) -> None:
    """Else the silence below would prove nothing."""
    client = Client()
    client.force_login(somebody(Role.ADMIN, is_superuser=True))
    telling = {
        place.label
        for place, path, query in theirs.doors
        if theirs.told_by(client.get(path, query))
    }
    assert len(telling) >= 110, sorted(telling)


@pytest.mark.parametrize("role", Role if FULL else (Role.ADMIN,))
def test_no_door_tells_of_a_cluster_that_is_not_seen(theirs: Theirs, role: Role) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(scoped(role))
    told, broken = [], []
    for place, path, query in theirs.doors:
        answer = client.get(path, query)
        # An error may repeat what was asked for, and a sign-in where to go on.
        echoed = (
            theirs.within(path + repr(query))
            if answer.status_code >= 300 or place.name in REPEATING
            else set()
        )
        broken += [(place.label, answer.status_code)] if answer.status_code >= 500 else []
        told += (
            [(place.label, answer.status_code, found)]
            if (found := theirs.told_by(answer) - echoed)
            else []
        )
    assert not broken
    assert not told


def test_their_own_cluster_is_there(theirs: Theirs) -> None:
    client = Client()
    client.force_login(scoped(Role.VIEWER, 'team="ours"'))
    page = client.get("/").content.decode()
    assert "our-own-job" in page
    assert re.search(r"\b1\b[^0-9]{0,40}job", re.sub(r"<[^>]+>", " ", page))
    assert [row["cluster"] for row in client.get("/api/v1/jobs/").json()["results"]] == [OURS]
    assert [row["cluster"] for row in client.get("/api/v1/findings/").json()["results"]] == [OURS]


NO_PAGE = re.compile("export|chart|progress")
POSTED = re.compile(r'<form[^>]*?method="post"[^>]*?action="([^"]+)"|hx-post="([^"]+)"')
BUTTON_LINK = re.compile(r'<a[^>]*?class="btn[^"]*"[^>]*?href="([^"#]+)"')


@pytest.mark.parametrize(
    ("role", "written"),
    mostly_long([(Role.ADMIN, f'cluster="{OURS}"'), (Role.VIEWER, "")], spread=True),
)
def test_nothing_is_offered_that_would_be_refused(theirs: Theirs, role: Role, written: str) -> None:
    """Each form and each button of all pages that somebody can open, pressed once."""
    user = scoped(role, written) if written else somebody(role)
    client, pressed, refused = Client(raise_request_exception=False), set(), set()
    client.force_login(user)
    pages = {
        place.label: path
        for place, path, _ in theirs.doors
        if not (place.is_api or NO_PAGE.search(place.label))
    }
    mine = pages | {"job of theirs": _job_page(), "finding": _finding_page()}
    for label, path in mine.items():
        answer = client.get(path)
        if (
            answer.status_code != 200
            or answer.streaming
            or not answer.headers["Content-Type"].startswith("text/html")
        ):
            continue
        page = answer.content.decode()
        offers = [("post", first or second) for first, second in POSTED.findall(page)] + [
            ("get", one) for one in BUTTON_LINK.findall(page)
        ]
        for method, offered in offers:
            address = urljoin(path, unescape(offered))
            name = resolve(urlsplit(address).path).view_name
            if (method, name) in pressed or name in WRITES_OF_THEIR_OWN or name == "sign-out":
                continue
            pressed.add((method, name))
            with taken_back():
                status = getattr(client, method)(address).status_code
            if status == 403:
                refused.add((label, method, name))
    assert len(pressed) >= 5
    assert not sorted(refused)


def _job_page() -> str:
    return f"/jobs/{OURS}/{JobCurrent.objects.get(cluster=OURS).job_id}/"


def _finding_page() -> str:
    return f"/findings/{Finding.objects.get(cluster=OURS).pk}/"


def test_counts_are_of_what_is_seen(theirs: Theirs) -> None:
    """Totals of the fleet, of lists, and numbers in the menu, against rows counted by their
    cluster.
    """
    for user, clusters in (
        (somebody(Role.ADMIN, is_superuser=True), None),
        (scoped(Role.OPERATOR), {OURS}),
    ):
        client = Client()
        client.force_login(user)

        def own(rows: Any, clusters: set[str] | None = clusters) -> int:
            return sum(clusters is None or row.cluster in clusters for row in rows)

        fleet = client.get("/")
        badge = re.search(r'class="count" title="alerts[^"]*">([0-9]+)', fleet.content.decode())
        waiting = {
            one.incident_id or one.uid: one
            for one in Alert.objects.all()
            if one.state == "firing" and one.acknowledged_at is None
        }.values()
        assert (int(badge[1]) if badge else 0) == own(waiting)
        assert fleet.context["totals"]["total"] == own(JobCurrent.objects.all())
        assert client.get("/findings/?state=any").context["matching"] == own(Finding.objects.all())
        assert client.get("/alerts/?state=any").context["matching"] == own(Alert.objects.all())
        assert client.get("/incidents/?state=any").context["matching"] == own(
            Incident.objects.all()
        )


KEPT_ANSWERS = (
    "/growth/?by=cluster",
    "/growth/?by=job",
    "/api/v1/analyses/resources/",
    "/storage/",
    "/",
)


def test_what_was_kept_for_who_sees_everything_is_shown_to_nobody_else(theirs: Theirs) -> None:
    """Answers that take seconds are cached, numbers of the menu as well."""
    wide, narrow = Client(), Client()
    wide.force_login(somebody(Role.ADMIN, is_superuser=True))
    narrow.force_login(scoped(Role.ADMIN))
    told = {address for address in KEPT_ANSWERS if theirs.told_by(wide.get(address))}
    assert told == set(KEPT_ANSWERS)
    assert not [address for address in KEPT_ANSWERS if theirs.told_by(narrow.get(address))]


WRITES_OF_THEIR_OWN = {
    "account-password",
    "account-token-create",
    "account-sign-out",
}
"""What concerns nobody but whoever sends it.

A view that is shared is seen by people who see the same clusters.
"""


def test_nothing_of_another_cluster_is_written(theirs: Theirs) -> None:
    """By who may everything else: the widest role, by session and by token."""
    user = scoped(Role.ADMIN)
    client, api = Client(raise_request_exception=False), APIClient(raise_request_exception=False)
    client.force_login(user)
    api.credentials(HTTP_AUTHORIZATION=f"Bearer {ApiToken.objects.issue(user, 't', 'approve')[1]}")
    by_name = {place.name: (path, query) for place, path, query in theirs.doors}
    forms = [
        (client, place, write, {"query_params": by_name[place.name][1]})
        for place, write in form_places()
    ]
    calls = [(api, place, write, {"format": "json"}) for place, write in api_places()]
    before, wrong = snapshot(), []
    for sender, place, write, more in forms + calls:
        if place.name in WRITES_OF_THEIR_OWN:
            continue
        (path, query), body = by_name[place.name], write.body()
        with taken_back(), statements() as seen:
            answer = getattr(sender, write.method)(path, body, **more)
            # A statement that names only rows that are seen changes none here.
            changed = bool(seen) and not connection.needs_rollback and snapshot() != before
        echoed = theirs.within(repr((path, query, body)))
        wrong += (
            [(place.name, answer.status_code, changed)]
            if answer.status_code >= 500 or changed or theirs.told_by(answer) - echoed
            else []
        )
    assert not wrong
