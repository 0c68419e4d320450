"""A name that a reader would take for somebody else's is not given to a new person, at any door."""

import threading
import unicodedata
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import IntegrityError, connection, transaction
from django.test import Client

from tests.webapp.builders import person
from webapp.accounts.models import User

LIKE_ADMIN = [
    "ADMIN",
    "Admin",
    "\u0430dmin",  # Cyrillic a
    "\u0410DM\u0406N",
    "\u03b1dmin",  # Greek alpha
    "\u0391dmin",
    "adm\u0131n",  # without a dot
    "ADM\u0130N",
    "\uff41\uff44\uff4d\uff49\uff4e",  # full width
    "\U0001d41admin",
    "\u1d00\u1d05\u1d0d\u026a\u0274",  # small capitals
    "admi\u0578",  # Armenian
    "admin\u3164",  # a letter that is shown as nothing
    "adm1n",
    "ADMlN",
    "adrnin",
    "\u13aa\u13a0\u13b7\u13c6\u13c1",  # Cherokee
    "\ua4ee\ua4d3\ua4df\ua4f2\ua4e0",  # Lisu
    "admi\uab37",  # a phonetic n
]
PASSWORD = "correct horse battery"


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def sent_by_page(name: str) -> None:
    ada = person("ada")
    ada.groups.add(Group.objects.get(name="admin"))
    answer = signed_in(ada).post(
        "/access/users/add/", {"username": name, "role": "viewer", "sees": "everything"}
    )
    assert "username" in answer.context["form"].errors


def sent_by_command(name: str) -> None:
    with pytest.raises((CommandError, IntegrityError)), transaction.atomic():
        call_command(
            "createsuperuser",
            interactive=False,
            username=name,
            email="",
            stdout=StringIO(),
            stderr=StringIO(),
        )


@pytest.mark.django_db
@pytest.mark.parametrize("door", [sent_by_page, sent_by_command])
@pytest.mark.parametrize("name", LIKE_ADMIN, ids=ascii)
def test_nobody_is_made_whose_name_looks_like_another(door: Any, name: str) -> None:
    person("admin")
    door(name)
    assert not User.objects.exclude(username__in=("admin", "ada", "root")).exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("root", "r00t"),
        ("wow", "vvovv"),
        ("bernd", "BEMD"),
        ("eva", "\u0435\u0475\u0430"),  # Cyrillic alone
        ("NIKO", "\u039d\u0399\u039a\u039f"),  # Greek alone
        ("uno", "\u057d\u0578\u0585"),  # Armenian alone
        ("\u738bo", "\u738b\u3007"),
    ],
)
def test_nobody_is_made_beside_one_who_looks_alike(one: str, other: str) -> None:
    person(one)
    with pytest.raises(ValidationError) as refused:
        User.objects.create_user(other)
    assert one in str(refused.value)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "name",
    ["\u0430dmin", "\u0438v\u0430\u043d", "\u13aa\u13a0", "\u1d00nn", "\u03b1\u0430", "ann\u0661"],
)
def test_a_name_of_several_scripts_or_of_a_rare_one_is_nobodys_and_the_letter_is_named(
    name: str,
) -> None:
    with pytest.raises(ValidationError) as refused:
        User.objects.create_user(name)
    stray = next(letter for letter in name if not letter.isascii())
    assert unicodedata.name(stray) in str(refused.value)


@pytest.mark.django_db
def test_names_of_people_in_scripts_in_use_are_taken_and_names_that_differ_are_two() -> None:
    names = [
        "ann",
        "anna",
        "jos\u00e9",
        "jose",
        "a.b",
        "a-b",
        "ops@example.org",
        "Nguy\u1ec5n",
        "\u0141ukasz",
        "\u0130brahim",
        "ivan",
        "\u0438\u0432\u0430\u043d",
        "\u738b\u4f1f",
        "\u738b\u8299",
        "wang\u4f1f",
        "\u4f50\u3005\u6728",
        "\u30de\u30ea\u30fc2",
        "\uae40\ucca0\uc218",
        "\u0639\u0645\u0631",
        "\u0639\u0645\u0631\u0661",
        "\u039f\u03b4\u03c5\u03c3\u03c3\u03ad\u03b1\u03c2",
        "\u05d3\u05d5\u05d3",
    ]
    for name in names:
        User.objects.create_user(name)
    assert set(User.objects.values_list("username", flat=True)) == set(names)


@pytest.mark.django_db
def test_whoever_had_such_a_name_before_signs_in_all_the_same() -> None:
    before = User(username="\u0430dm1n")
    before.set_password(PASSWORD)
    User.objects.bulk_create([User(username="admin"), before])
    client = Client()
    client.post("/sign-in/", {"username": "\u0430dm1n", "password": PASSWORD})
    assert client.get("/account/").status_code == 200


@pytest.mark.django_db
def test_an_installation_without_an_administrator_starts_and_is_told_where_the_name_of_the_first_is_taken_by_a_look_alike() -> (
    None
):
    person("Admin")
    said, complained = StringIO(), StringIO()
    call_command("ensure_admin", stdout=said, stderr=complained)
    assert not said.getvalue()
    assert "createsuperuser" in complained.getvalue() and User.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_two_look_alikes_at_the_same_time_one_is_made() -> None:
    if connection.vendor == "sqlite":
        pytest.skip(
            "SQLite has one writer at a time; tests/webapp/test_databases.py plays this on "
            "PostgreSQL"
        )
    refused: list[str] = []

    def make(name: str) -> None:
        try:
            User.objects.create_user(name)
        except ValidationError:
            refused.append(name)
        finally:
            connection.close()

    other = threading.Thread(target=make, args=("\u0435va",))
    with transaction.atomic():
        User.objects.create_user("eva")
        other.start()
        other.join(1)  # it waits for the end of this transaction, or it is done by now
    other.join(30)
    assert len(refused) == 1 == User.objects.count()
