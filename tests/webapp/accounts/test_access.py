"""Who may come in: people by password, slowly; machines by token, within its scope."""

from datetime import timedelta
from io import StringIO

import pytest
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client, RequestFactory
from django.utils import timezone
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from webapp.accounts.authentication import TokenAuthentication
from webapp.accounts.models import ApiToken, SignInFailures, User
from webapp.accounts.permissions import ScopedAccess
from webapp.accounts.roles import Role, role_of

pytestmark = pytest.mark.django_db
PASSWORD = "correct horse battery"


@pytest.fixture
def user() -> User:
    return User.objects.create_user("ann", password=PASSWORD)


def sign_in(password: str, client: Client | None = None, user_name: str = "ann") -> int:
    return (
        (client or Client())
        .post("/sign-in/", {"username": user_name, "password": password})
        .status_code
    )


def test_the_right_password_signs_in(user: User) -> None:
    assert sign_in(PASSWORD) == 302


def test_after_ten_failures_even_the_right_password_has_to_wait(user: User) -> None:
    for _ in range(10):
        assert sign_in("wrong") == 200
    assert sign_in(PASSWORD) == 200
    SignInFailures.objects.update(window_start=timezone.now() - timedelta(hours=1))
    assert sign_in(PASSWORD) == 302


def test_guessing_at_many_names_makes_no_endless_table(user: User) -> None:
    for number in range(30):
        sign_in("wrong", user_name=f"user{number}")
    assert SignInFailures.objects.count() <= 2 * 10 + 1


def test_tokens_are_kept_as_digests_only(user: User) -> None:
    token, text = ApiToken.objects.issue(user, "ci")
    assert text.startswith("weir_")
    assert text not in repr(ApiToken.objects.values().get())
    assert ApiToken.objects.find(text) == token


def authenticate(text: str) -> "tuple[User, ApiToken] | None":
    request = RequestFactory().get("/", headers={"Authorization": f"Bearer {text}"})
    return TokenAuthentication().authenticate(Request(request))


def test_a_token_speaks_for_its_user_and_notes_its_use(user: User) -> None:
    token, text = ApiToken.objects.issue(user, "ci")
    assert authenticate(text) == (user, token)
    assert ApiToken.objects.get().last_used_at is not None


@pytest.mark.parametrize("reason", ["unknown", "expired", "inactive"])
def test_a_token_that_is_not_valid_is_refused(user: User, reason: str) -> None:
    _, text = ApiToken.objects.issue(
        user,
        "ci",
        expires_at=timezone.now() - timedelta(seconds=1) if reason == "expired" else None,
    )
    if reason == "inactive":
        User.objects.update(is_active=False)
    with pytest.raises(AuthenticationFailed):
        authenticate("weir_x" if reason == "unknown" else text)


@pytest.mark.parametrize(
    ("group", "scope", "method", "allowed"),
    [
        ("viewer", "read", "get", True),
        ("viewer", "write", "post", False),
        ("operator", "read", "post", False),
        ("operator", "write", "post", True),
        ("operator", "write", "get", True),
    ],
)
def test_writing_needs_both_the_role_and_the_scope(
    user: User, group: str, scope: str, method: str, allowed: bool
) -> None:
    from django.contrib.auth.models import Group
    from rest_framework.views import APIView

    user.groups.add(Group.objects.get(name=group))
    _, text = ApiToken.objects.issue(user, "ci", scope)
    request = Request(
        getattr(RequestFactory(), method)("/", headers={"Authorization": f"Bearer {text}"}),
        authenticators=[TokenAuthentication()],
    )
    assert ScopedAccess().has_permission(request, APIView()) is allowed


def test_people_without_a_group_are_viewers_and_superusers_administrators(user: User) -> None:
    assert role_of(user) is Role.VIEWER
    assert role_of(User.objects.create_superuser("root")) is Role.ADMIN
    user.is_active = False
    assert role_of(user) is None


def test_the_first_administrator_is_made_once_and_remembered() -> None:
    first, second = StringIO(), StringIO()
    call_command("ensure_admin", stdout=first)
    call_command("ensure_admin", stdout=second)
    assert first.getvalue() == second.getvalue()
    password = first.getvalue().split()[-1]
    assert User.objects.get().check_password(password)


def test_a_changed_password_is_not_printed() -> None:
    call_command("ensure_admin", stdout=StringIO())
    admin = User.objects.get()
    admin.set_password(PASSWORD)
    admin.save()
    said = StringIO()
    call_command("ensure_admin", stdout=said)
    assert "the password you gave it" in said.getvalue()


def test_a_token_can_be_issued_by_command(user: User) -> None:
    said = StringIO()
    call_command("create_token", "ann", "--scope", "write", stdout=said)
    token = ApiToken.objects.find(said.getvalue().strip())
    assert token is not None
    assert token.scope == "write"
    with pytest.raises(CommandError, match="no active user bob"):
        call_command("create_token", "bob")


@pytest.mark.django_db(transaction=True)
def test_groups_are_there_again_after_the_tables_were_emptied() -> None:
    call_command("flush", interactive=False, verbosity=0)
    assert set(Group.objects.values_list("name", flat=True)) == {"viewer", "operator", "admin"}
