"""The page of people: who manages whom, what it shows, and that an administrator is always left."""

import threading
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import close_old_connections, connection
from django.test import Client

from tests.webapp.builders import person
from webapp.accounts import people
from webapp.accounts.models import ApiToken, User
from webapp.accounts.roles import Role, role_of
from webapp.lib.refusals import ActionRefused

pytestmark = pytest.mark.django_db
OURS = [[{"label": "team", "operator": "=", "value": "ours"}]]


def member(name: str, role: str, **fields: Any) -> User:
    user = person(name)
    user.groups.add(Group.objects.get(name=role))
    User.objects.filter(pk=user.pk).update(**fields)
    user.refresh_from_db()
    return user


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def ada() -> Client:
    return signed_in(member("ada", "admin"))


def asked(client: Client, user: User, what: str, **body: str) -> Any:
    return client.post(f"/access/users/{user.pk}/{what}/", body)


def test_the_list_says_role_scope_and_state(ada: Client) -> None:
    member("ann", "operator", sees=OURS)
    person("bob")
    User.objects.filter(username="bob").update(is_active=False)
    rows = {row.username: row for row in ada.get("/access/users/").context["page"].rows}
    assert {name: (row.role, row.grants, row.badge.word) for name, row in rows.items()} == {
        "ada": (Role.ADMIN, None, "open"),
        "ann": (Role.OPERATOR, ['team="ours"'], "open"),
        "bob": (Role.VIEWER, None, "closed"),
    }


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("role=admin", ["ada", "root"]),
        ("role=operator", ["ann"]),
        ("role=viewer", ["bob"]),
        ("state=closed", ["bob"]),
        ("q=AN", ["ann"]),
    ],
)
def test_people_are_found_by_role_state_and_name(ada: Client, query: str, names: list[str]) -> None:
    member("ann", "operator").groups.add(Group.objects.get(name="viewer"))
    Group.objects.get(name="operator").user_set.add(User.objects.get(username="ada"))
    User.objects.create_superuser("root")
    User.objects.filter(pk=person("bob").pk).update(is_active=False)
    assert [
        row.username for row in ada.get(f"/access/users/?{query}").context["page"].rows
    ] == names


def test_one_number_of_queries_lists_few_and_many(
    ada: Client, django_assert_max_num_queries: Any
) -> None:
    for number in range(30):
        ApiToken.objects.issue(member(f"p{number}", "viewer"), "ci")
    with django_assert_max_num_queries(15):
        assert len(ada.get("/access/users/").context["page"].rows) == 31


def test_a_new_person_signs_in_with_the_password_that_is_shown_once(ada: Client) -> None:
    answer = ada.post(
        "/access/users/add/",
        {"username": "ann", "role": "operator", "sees": "only", "sees_only": 'team="ours"'},
    )
    ann = User.objects.get(username="ann")
    assert (role_of(ann), ann.sees) == (Role.OPERATOR, OURS)
    told = {"username": "ann", "password": answer.context["password"]}
    assert Client().post("/sign-in/", told).status_code == 302
    assert answer.context["password"] not in ada.get(f"/access/users/{ann.pk}/").content.decode()


@pytest.mark.parametrize(
    ("entered", "field"),
    [
        ({"username": "ada"}, "username"),
        ({"username": "two words"}, "username"),
        ({"username": "ann", "role": "king"}, "role"),
        ({"username": "ann", "sees": "only", "sees_only": "payments"}, "sees_only"),
        ({"username": "ann", "sees_only": 'team="ours"'}, "sees_only"),
    ],
)
def test_what_cannot_be_is_refused_at_its_field_and_makes_nobody(
    ada: Client, entered: dict[str, str], field: str
) -> None:
    answer = ada.post("/access/users/add/", {"role": "viewer", "sees": "everything", **entered})
    assert field in answer.context["form"].errors
    assert User.objects.count() == 1


def test_role_and_scope_are_changed_and_hold_at_once(ada: Client) -> None:
    ann = member("ann", "operator")
    client = signed_in(ann)
    assert client.get("/clusters/add/").status_code == 200
    asked(ada, ann, "change", role="viewer", sees="only", sees_only='team="ours"')
    ann.refresh_from_db()
    assert (role_of(ann), ann.sees) == (Role.VIEWER, OURS)
    assert client.get("/clusters/add/").status_code == 403


def test_a_scope_that_cannot_be_is_refused_at_its_field_and_kept_in_the_form(ada: Client) -> None:
    ann = member("ann", "operator")
    answer = asked(ada, ann, "change", role="viewer", sees="only", sees_only="payments")
    assert "sees_only" in answer.context["form"].errors and "payments" in answer.content.decode()
    assert role_of(ann) == Role.OPERATOR


def test_closing_an_account_ends_its_sessions_and_tokens_and_reopening_it_revives_no_session(
    ada: Client,
) -> None:
    ann = member("ann", "viewer")
    client, (_, text) = signed_in(ann), ApiToken.objects.issue(ann, "ci")

    def statuses() -> tuple[int, int]:
        by_token = (
            Client().get("/api/v1/jobs/", headers={"Authorization": f"Bearer {text}"}).status_code
        )
        return client.get("/account/").status_code, by_token

    assert statuses() == (200, 200)
    asked(ada, ann, "switch", disable="1")
    assert statuses() == (302, 401)
    asked(ada, ann, "switch", enable="1")
    assert statuses() == (302, 200)


def test_a_new_password_replaces_the_old_one_and_ends_sessions(ada: Client) -> None:
    ann = member("ann", "viewer")
    client = signed_in(ann)
    password = asked(ada, ann, "password").context["password"]
    ann.refresh_from_db()
    assert ann.check_password(password) and not ann.check_password("correct horse battery")
    assert client.get("/account/").status_code == 302


def test_signing_somebody_out_everywhere_leaves_their_password_and_tokens(ada: Client) -> None:
    ann = member("ann", "viewer")
    client = signed_in(ann)
    asked(ada, ann, "sign-out")
    assert client.get("/account/").status_code == 302
    assert (
        Client()
        .post("/sign-in/", {"username": "ann", "password": "correct horse battery"})
        .status_code
        == 302
    )


def test_signing_out_everywhere_else_keeps_the_session_that_asks() -> None:
    ann = member("ann", "viewer")
    here, there = signed_in(ann), signed_in(ann)
    here.post("/account/sign-out-everywhere/")
    assert (here.get("/account/").status_code, there.get("/account/").status_code) == (200, 302)


def test_an_open_account_is_not_removed_and_a_closed_one_is_with_its_tokens(ada: Client) -> None:
    ann = member("ann", "viewer")
    ApiToken.objects.issue(ann, "ci")
    asked(ada, ann, "remove")
    assert User.objects.filter(username="ann").exists()
    asked(ada, ann, "switch", disable="1")
    asked(ada, ann, "remove")
    assert not User.objects.filter(username="ann").exists() and not ApiToken.objects.exists()


def test_tokens_of_a_person_are_shown_with_expiry_and_use_and_are_revoked(ada: Client) -> None:
    ann = member("ann", "viewer")
    token, text = ApiToken.objects.issue(ann, "grafana", sees=OURS)
    page = ada.get(f"/access/users/{ann.pk}/").content.decode()
    assert (
        "grafana" in page
        and "team=&quot;ours&quot;" in page
        and text not in page
        and token.digest not in page
    )
    ada.post(f"/access/users/{ann.pk}/tokens/{token.pk}/revoke/")
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize("what", ["change", "switch", "password", "sign-out", "remove"])
@pytest.mark.parametrize("whom", ["ada", "root"])
def test_nobody_changes_themselves_and_nobody_but_superusers_a_superuser(
    ada: Client, what: str, whom: str
) -> None:
    User.objects.create_superuser("root", password="x")
    user = User.objects.get(username=whom)
    before = User.objects.filter(pk=user.pk).values().get()
    asked(ada, user, what, role="viewer", sees="only", disable="1")
    assert User.objects.filter(pk=user.pk).values().get() == before
    assert role_of(user) == Role.ADMIN
    assert "Make a new password" not in ada.get(f"/access/users/{user.pk}/").content.decode()


def test_a_superuser_makes_another_one_a_viewer() -> None:
    root, client = User.objects.create_superuser("root"), Client()
    client.force_login(User.objects.create_superuser("boss"))
    asked(client, root, "change", role="viewer", sees="everything")
    root.refresh_from_db()
    assert role_of(root) == Role.VIEWER


@pytest.mark.parametrize("who", ["viewer", "operator", "admin of some clusters"])
def test_nobody_but_administrators_of_the_whole_fleet_sees_or_changes_people(who: str) -> None:
    ann = member("ann", "viewer")
    scoped = who.startswith("admin")
    client = signed_in(member("eve", "admin" if scoped else who, sees=OURS if scoped else None))
    assert (
        client.get("/access/users/").status_code
        == client.get(f"/access/users/{ann.pk}/").status_code
        == 403
    )
    assert asked(client, ann, "change", role="admin", sees="everything").status_code == 403
    assert role_of(ann) == Role.VIEWER


@pytest.mark.django_db(transaction=True)
def test_two_administrators_who_demote_each_other_at_once_leave_one() -> None:
    if connection.vendor == "sqlite":
        pytest.skip(
            "SQLite has one writer at a time; tests/webapp/test_databases.py plays this on "
            "PostgreSQL"
        )
    pair = [member(name, "admin") for name in ("ada", "bea")]
    waiting, refused = threading.Barrier(2), []

    def demote(by: User, other: User) -> None:
        try:
            waiting.wait()
            people.change(by, other, "viewer", "everything", "")
        except ActionRefused as why:
            refused.append(str(why))
        finally:
            close_old_connections()
            connection.close()

    threads = [threading.Thread(target=demote, args=order) for order in (pair, pair[::-1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert User.objects.filter(people.administrators()).count() == 1
    assert refused == ["You no longer administer the whole fleet."]


def test_password_managers_learn_whose_password_is_changed_and_the_form_does_not_send_it() -> None:
    client = Client()
    client.force_login(person("ann"))
    form = (
        client.get("/account/")
        .content.decode()
        .partition('action="/account/password/"')[2]
        .partition("</form>")[0]
    )
    field = form.partition('<input type="text"')[2].partition(">")[0]
    assert (
        'autocomplete="username" value="ann"' in field
        and " hidden" in field
        and " name=" not in field
    )


@pytest.mark.parametrize("done", ["close", "new_password", "sign_out", "change"])
def test_who_changes_their_password_meanwhile_undoes_nothing(
    done: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Hashing takes most of a second: whoever repeats it would be in it whenever they are closed."""
    ada, ann = member("ada", "admin"), member("ann", "operator", sees=OURS)
    client = signed_in(ann)
    expected: dict[str, Any] = {}
    hash_of = User.set_password

    def meanwhile(user: User, password: str) -> None:
        monkeypatch.undo()
        others = User.objects.get(pk=ann.pk)
        if done == "change":
            people.change(ada, others, "viewer", people.ONLY, 'team="theirs"')
        else:
            getattr(people, done)(ada, others)
        expected.update(User.objects.filter(pk=ann.pk).values().get())
        hash_of(user, password)

    monkeypatch.setattr(User, "set_password", meanwhile)
    words = {"new_password1": "battery horse staple", "new_password2": "battery horse staple"}
    client.post("/account/password/", {"old_password": "correct horse battery", **words})
    stored = User.objects.filter(pk=ann.pk).values().get()
    if done == "change":
        expected |= {"password": stored["password"]}
        assert client.get("/account/").status_code == 200
    else:
        assert client.get("/account/").status_code == 302
    assert expected and stored == expected
