"""Which clusters a person or a token sees is said by command and in the administration."""

import re
from html import unescape
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from tests.webapp.builders import cluster, job, person
from webapp.accounts.models import ApiToken, User
from webapp.accounts.viewers import scope_of
from webapp.fleet.models import Cluster

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def two_teams() -> None:
    at = timezone.now()
    for team in ("payments", "search"):
        job(cluster(f"of-{team}", at=at, labels={"team": team}).name, at=at, name=f"job-of-{team}")


def seen(user: User, **headers: str) -> list[str]:
    client = Client(headers=headers)
    if not headers:
        client.force_login(user)
    return sorted(row["cluster"] for row in client.get("/api/v1/jobs/").json()["results"])


def said(*arguments: str) -> str:
    out = StringIO()
    call_command("scope_user", *arguments, stdout=out)
    return out.getvalue().strip()


def test_a_person_is_given_clusters_by_command_and_has_them_taken_away() -> None:
    ann = person("ann")
    assert said("ann") == "ann sees everything" and seen(ann) == ["of-payments", "of-search"]
    assert said("ann", 'team="payments"') == 'ann sees team="payments"'
    ann.refresh_from_db()
    assert seen(ann) == ["of-payments"]
    assert said("ann", 'team="payments"', 'cluster="of-search", team=~"sea.*"') == (
        'ann sees team="payments"; or cluster="of-search", team=~"sea.*"'
    )
    ann.refresh_from_db()
    assert seen(ann) == ["of-payments", "of-search"]
    assert said("ann", "--nothing") == "ann sees nothing"
    ann.refresh_from_db()
    assert seen(ann) == []
    assert said("ann", "--everything") == "ann sees everything"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("nobody", 'team="a"'), "There is no user nobody."),
        (("ann", "payments"), "is not a matcher"),
        (("ann", " "), "say nothing"),
        (("ann", 'team="a"', "--everything"), "Give grants, or"),
        (("root", 'team="a"'), "superuser"),
    ],
)
def test_a_scope_that_cannot_be_is_refused_and_changes_nothing(
    arguments: tuple[str, ...], why: str
) -> None:
    person("ann")
    User.objects.create_superuser("root")
    with pytest.raises(CommandError, match=why):
        said(*arguments)
    assert not User.objects.filter(sees__isnull=False).exists()


def test_a_token_is_narrowed_within_what_its_person_sees() -> None:
    ann = person("ann")
    out = StringIO()
    call_command("create_token", "ann", "--sees", 'team="search"', stdout=out)
    bearer = f"Bearer {out.getvalue().strip()}"
    assert seen(ann, authorization=bearer) == ["of-search"]
    said("ann", 'team="payments"')
    assert seen(ann, authorization=bearer) == []
    with pytest.raises(CommandError, match="is not a matcher"):
        call_command("create_token", "ann", "--sees", "search")
    assert ApiToken.objects.count() == 1


@pytest.mark.parametrize(
    "written", ['team!="payments"', 'team=""', 'team!~"pay.*"', 'cluster=~"of-.*", secret!="yes"']
)
def test_a_cluster_is_not_seen_once_it_is_removed_since_its_labels_are_gone(written: str) -> None:
    ann, at = person("ann"), timezone.now()
    cluster("secret", at=at, labels={"team": "payments", "secret": "yes"})
    said("ann", written)
    ann.refresh_from_db()
    before = scope_of(ann).clusters
    Cluster.objects.get(name="of-payments").delete()
    Cluster.objects.get(name="secret").delete()
    assert scope_of(ann).clusters <= before


@pytest.mark.parametrize("written", ['taem!="payments"', 'taem!~"pay.*"', 'taem=""', 'taem=~".*"'])
def test_a_label_that_no_cluster_has_hides_nothing_and_is_refused(written: str) -> None:
    """At every door: else who misspells a label lets somebody see everything."""
    ann, boss, client = person("ann"), person("boss"), Client()
    boss.is_superuser = True
    boss.save()
    why = f"No cluster has the label taem, so {written} hides none."
    grant = f'cluster=~"of-.*", {written}'
    for command in (("scope_user",), ("create_token", "--sees")):
        with pytest.raises(CommandError, match=re.escape(why)):
            call_command(command[0], "ann", *command[1:], grant)
    client.force_login(boss)
    for user in ({"username": "newcomer"}, {}):
        page = reverse("access-user-add") if user else reverse("access-user-change", args=[ann.pk])
        form = {**user, "role": "viewer", "sees": "only", "sees_only": grant}
        assert why in unescape(client.post(page, form).content.decode())
    token = {"name": "mine", "scope": "read", "days": "30", "sees_only": grant}
    page = client.post(reverse("account-token-create"), token).content.decode()
    assert why in unescape(page)
    ann.refresh_from_db()
    assert (ann.sees, User.objects.count(), ApiToken.objects.count()) == (None, 2, 0)
    assert "ann sees" in said("ann", 'taem="payments"'), "which shows too little, and that is seen"


def test_a_cluster_that_is_seen_by_its_name_is_seen_once_it_is_removed() -> None:
    ann = person("ann")
    said("ann", 'cluster=~"of-pay.*"')
    ann.refresh_from_db()
    Cluster.objects.get(name="of-payments").delete()
    assert scope_of(ann).clusters == {"of-payments"}
