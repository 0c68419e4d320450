"""Tokens of shippers: issued by page and command, shown once, counted, revoked."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from webapp.fleet.models import Cluster
from webapp.push.models import PushToken

PAGE = "/clusters/prod/pushed-logs/"


@pytest.fixture
def cluster(home, db):
    return Cluster.objects.create(name="prod", url="http://127.0.0.1:9")


def test_the_page_shows_a_new_token_once_and_it_works(operator, cluster):
    assert b"No shipper pushes logs" in operator.get(PAGE).content
    text = (
        operator.post(PAGE, {"name": "vector", "days": "90"})
        .content.decode()
        .split('<code class="token">')[1]
        .split("<")[0]
    )
    answer = Client().post(
        "/api/v1/push/logs/",
        '{"log": "x"}',
        content_type="application/json",
        headers={"authorization": f"Bearer {text}"},
    )
    assert answer.json()["lines"] == 1
    page = operator.get(PAGE).content.decode()
    assert text not in page
    assert "vector" in page
    cluster.refresh_from_db()
    assert cluster.logs_are_pushed


def test_a_revoked_token_is_gone(operator, cluster):
    token, _ = PushToken.objects.issue(cluster, "vector")
    operator.post(f"{PAGE}{token.pk}/revoke/", follow=True)
    assert not PushToken.objects.exists()


def test_viewers_see_no_tokens(viewer, cluster):
    assert viewer.get(PAGE).status_code == 403


def test_a_recording_takes_no_pushes(operator, db):
    Cluster.objects.create(name="rec", kind="recording")
    assert operator.get("/clusters/rec/pushed-logs/").status_code == 404
    with pytest.raises(CommandError, match="recording"):
        call_command("push_token", "rec")


def test_the_command_prints_a_token_that_expires(cluster):
    said = StringIO()
    call_command("push_token", "prod", "--days", "7", stdout=said)
    token = PushToken.objects.find(said.getvalue().strip())
    assert token.cluster == cluster and token.expires_at


def test_a_cluster_of_pushed_logs_alone_is_registered_and_collected(home, db):
    call_command("add_cluster", "pushed", "--pushed-logs", "--untested", stdout=StringIO())
    (glob,) = Cluster.objects.get(name="pushed").source().logs.globs
    assert glob == str(home / "pushed" / "pushed" / "*.log*")
