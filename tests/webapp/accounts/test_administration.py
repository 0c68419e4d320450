"""The administration: members of the role enter and look, superusers manage, nobody else gets in."""

import re

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.webapp.builders import cluster, job, person
from webapp.accounts.models import ApiToken, User

pytestmark = pytest.mark.django_db


def signed_in(name: str, group: str = "", **flags: bool) -> Client:
    user = person(name)
    if group:
        user.groups.add(Group.objects.get(name=group))
    for flag, value in flags.items():
        setattr(user, flag, value)
    user.save()
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def member() -> Client:
    return signed_in("ada", "admin")


LISTS = sorted(
    f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"
    for model in admin.site._registry
)


def test_a_member_of_the_role_enters(member: Client) -> None:
    assert member.get("/admin/").status_code == 200


@pytest.mark.parametrize("name", LISTS)
def test_a_member_sees_every_list(member: Client, name: str) -> None:
    assert member.get(reverse(name)).status_code == 200


@pytest.mark.parametrize("name", LISTS)
def test_a_member_adds_nothing_there(member: Client, name: str) -> None:
    assert member.get(reverse(name.replace("changelist", "add"))).status_code == 403


def test_a_member_looks_at_rows_and_changes_none(member: Client) -> None:
    at = timezone.now()
    other = person("ben")
    token, _text = ApiToken.objects.issue(other, "ci")
    for row in (cluster(at=at), job(at=at), other, token, Group.objects.get(name="viewer")):
        about = f"admin:{row._meta.app_label}_{row._meta.model_name}"
        address = reverse(f"{about}_change", args=(row.pk,))
        page = member.get(address)
        assert page.status_code == 200 and b'name="_save"' not in page.content
        assert member.post(address, {"name": "changed", "username": "changed"}).status_code == 403
        assert (
            member.post(reverse(f"{about}_delete", args=(row.pk,)), {"post": "yes"}).status_code
            == 403
        )
    assert User.objects.filter(username="ben").exists() and ApiToken.objects.exists()


def test_a_member_gives_nobody_a_role_or_a_password(member: Client) -> None:
    me = User.objects.get(username="ada")
    page = member.get(reverse("admin:accounts_user_change", args=(me.pk,)))
    assert me.password not in page.content.decode()
    assert (
        member.post(
            reverse("admin:accounts_user_change", args=(me.pk,)),
            {"username": "ada", "is_superuser": "on"},
        ).status_code
        == 403
    )
    assert (
        member.post(
            reverse("admin:auth_user_password_change", args=(me.pk,)),
            {"password1": "x" * 20, "password2": "x" * 20},
        ).status_code
        == 403
    )
    me.refresh_from_db()
    assert not me.is_superuser


def test_no_page_of_the_administration_shows_a_hash(member: Client) -> None:
    for user in User.objects.all():
        shown = member.get(reverse("admin:accounts_user_change", args=(user.pk,))).content.decode()
        assert not re.search(r"(md5|pbkdf2_sha256)\$\w+\$\w+", shown)


@pytest.mark.parametrize("group", ["", "viewer", "operator"])
def test_others_do_not_enter(group: str) -> None:
    client = signed_in("vera", group)
    assert client.get("/admin/").status_code == 302
    assert client.get(reverse(LISTS[0])).status_code == 302


def test_a_member_whose_account_is_closed_does_not_enter() -> None:
    assert signed_in("old", "admin", is_active=False).get("/admin/").status_code == 302


def test_a_superuser_manages_people_as_before() -> None:
    client = signed_in("root", is_superuser=True, is_staff=True)
    assert client.get(reverse("admin:accounts_user_add")).status_code == 200


def test_staff_with_permissions_of_their_own_enter_as_before() -> None:
    client = signed_in("stan", is_staff=True)
    User.objects.get(username="stan").user_permissions.add(
        Permission.objects.get(codename="view_apitoken")
    )
    assert client.get(reverse("admin:accounts_apitoken_changelist")).status_code == 200
    assert client.get(reverse("admin:accounts_user_changelist")).status_code == 403


def test_an_address_that_names_an_empty_field_is_refused_in_words() -> None:
    root = signed_in("root", is_staff=True, is_superuser=True)
    address = reverse("admin:accounts_user_change", args=[person("ada").pk])
    assert root.get(address, {"_to_field": ""}).status_code == 400
    assert root.get(address, {"_to_field": "id"}).status_code == 200
    assert root.get(address).status_code == 200
