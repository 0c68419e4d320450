"""The audit log: sign-ins, what stands in an entry, who reads it, how it is searched, and that
nothing changes it.
"""

import csv
import io
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from tests.webapp.builders import person
from webapp.accounts.models import AuditEntry, NeverChanged, User
from webapp.config import row_retention
from webapp.pipeline import retention

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"


def administrator(name: str = "ada", **fields: Any) -> Client:
    user = person(name)
    user.groups.add(Group.objects.get(name="admin"))
    User.objects.filter(pk=user.pk).update(**fields)
    client = Client()
    client.force_login(user)
    return client


def entry(**fields: Any) -> AuditEntry:
    defaults = {
        "at": timezone.now(),
        "action": "cluster.add",
        "door": "page",
        "person": "olga",
        "outcome": "done",
        "status": 302,
    }
    return AuditEntry.objects.create(**{**defaults, **fields})


def noted() -> list[tuple[str, str, str]]:
    return list(AuditEntry.objects.order_by("id").values_list("action", "person", "outcome"))


def test_signing_in_and_out_and_failing_to_is_noted() -> None:
    person("ann")
    client = Client()
    client.post("/sign-in/", {"username": "ann", "password": "wrong"}, REMOTE_ADDR="203.0.113.7")
    client.post("/sign-in/", {"username": "ann", "password": PASSWORD})
    client.post("/sign-in/", {"username": "ann", "password": PASSWORD})
    client.post("/sign-out/")
    assert noted() == [
        ("sign-in", "ann", "refused"),
        ("sign-in", "ann", "done"),
        ("sign-out", "ann", "done"),
    ]
    assert AuditEntry.objects.order_by("id")[0].from_address == "203.0.113.7"


def test_a_name_that_nobody_has_is_not_kept_since_it_may_be_a_password() -> None:
    Client().post("/sign-in/", {"username": PASSWORD, "password": "x"})
    assert PASSWORD not in repr(AuditEntry.objects.values().get())


def test_whoever_is_blocked_and_goes_on_makes_one_more_entry() -> None:
    person("ann")
    for _ in range(16):
        Client().post("/sign-in/", {"username": "ann", "password": "wrong"})
    assert len(noted()) == 11
    assert AuditEntry.objects.order_by("-id")[0].details == {"blocked": "too many failed attempts"}


def test_a_write_that_the_process_did_not_survive_is_there_with_an_unknown_outcome() -> None:
    entry(outcome="", status=None)
    assert "? unknown" in administrator().get("/access/audit/").content.decode()


@pytest.mark.parametrize("who", ["viewer", "operator", "admin of some clusters"])
def test_nobody_but_administrators_of_the_whole_fleet_reads_it(who: str) -> None:
    entry()
    client = Client()
    if who.startswith("admin"):
        client = administrator(sees=[[{"label": "team", "operator": "=", "value": "ours"}]])
    else:
        client.force_login(person("vera", operator=who == "operator"))
    for path in ("/access/audit/", "/access/audit.csv"):
        assert client.get(path).status_code == 403, path
    assert "/access/audit/" not in client.get("/account/").content.decode()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("person=olga", {1, 2}),
        ("action=cluster.remove", {2}),
        ("object=prod", {2}),
        ("outcome=unknown", {3}),
        ("from=now-2h", {2, 3}),
        ("to=now-2h", {1}),
        ("action=nonsense", set()),
    ],
)  # fmt: skip
def test_the_log_is_searched_by_person_action_object_and_time_at_every_door(
    query: str, expected: set[int]
) -> None:
    client, now = administrator(), timezone.now()
    entry(at=now - timedelta(days=1), status=1)
    entry(action="cluster.remove", subject="prod-eu", status=2)
    entry(person="ann", outcome="", status=3)
    listed = {row.status for row, _ in client.get(f"/access/audit/?{query}").context["rows"]}
    assert listed == expected
    download = client.get(f"/access/audit.csv?{query}")
    if "nonsense" in query:
        assert download.status_code == 400
        return
    text = b"".join(download.streaming_content).decode()  # type: ignore[attr-defined]
    assert {int(row["status"]) for row in csv.DictReader(io.StringIO(text))} == expected


def test_page_after_page_shows_every_entry_once_with_one_number_of_queries(
    django_assert_max_num_queries: Any,
) -> None:
    for number in range(120):
        entry(status=number)
    client, seen, address = administrator(), [], "/access/audit/"
    while address:
        with django_assert_max_num_queries(14):
            answer = client.get(address)
        seen += [row.status for row, _ in answer.context["rows"]]
        cursor = answer.context["page"].next_cursor
        address = f"/access/audit/?cursor={cursor}" if cursor else ""
    assert seen == list(range(119, -1, -1))


def test_no_entry_is_changed_or_deleted_before_its_time() -> None:
    kept = entry()
    for change in (
        kept.save,
        kept.delete,
        lambda: AuditEntry.objects.update(person="x"),
        lambda: AuditEntry.objects.all().delete(),
    ):
        with pytest.raises(NeverChanged):
            change()
    AuditEntry.objects.end(kept.pk, outcome="failed", status=500)
    assert AuditEntry.objects.get().outcome == "done"


def test_entries_go_when_they_are_older_than_is_set() -> None:
    now = timezone.now()
    entry(at=now - row_retention.audit() - timedelta(days=1), person="old")
    entry(at=now - row_retention.audit() + timedelta(days=1), person="young")
    rule = next(rule for rule in retention.RULES_OF_WEIR if rule.model is AuditEntry)
    assert [row.person for row in rule.old(now)] == ["old"]
    rule.old(now).delete()
    assert AuditEntry.objects.filter(door="page").get().person == "young"


def test_names_in_the_log_are_escaped() -> None:
    entry(subject="<script>alert(1)</script>", details={"name": "<b>"}, person="")
    page = administrator().get("/access/audit/").content.decode()
    assert (
        "<script>alert" not in page
        and "<b>" not in page.partition("<table")[2].partition("</table>")[0]
    )
