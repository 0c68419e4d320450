"""What a cluster may be, and that its secret goes nowhere but to the collector."""

import logging
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from webapp.accounts.models import User
from webapp.fleet.models import Cluster
from webapp.fleet.sign_ins import JOBMANAGER

CANARY = "canary-4711"


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"name": "a b"}, "letters, digits"),
        ({"name": "../etc"}, "letters, digits"),
        ({"url": "ftp://h"}, "http://jobmanager:8081"),
        ({"url": "http://user:pw@h:8081"}, "not inside the address"),
        ({"url": ""}, "at least one source"),
        ({"auth_scheme": "basic"}, "needs a user"),
        ({"client_cert_file": "/nowhere.pem"}, "belong together"),
        ({"ca_file": "/nowhere.pem"}, "There is no file"),
        ({"time_zone": "Mars/Olympus"}, "IANA"),
        ({"log_globs": "x.log"}, "list of paths"),
    ],
)
@pytest.mark.django_db
def test_a_cluster_that_makes_no_sense_is_refused(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        Cluster(**{"name": "c", "url": "http://h:8081", **wrong}).full_clean()


@pytest.fixture
def cluster(db: None) -> Cluster:
    cluster = Cluster(
        name="c",
        url="http://h:8081",
        auth_scheme="basic",
        auth_user="me",
        log_globs=["/logs/*.log"],
    )
    JOBMANAGER.store(cluster, CANARY)
    cluster.save()
    return cluster


def test_the_collector_gets_everything(cluster: Cluster) -> None:
    source = Cluster.objects.get().source()
    assert source.auth is not None
    assert (source.name, source.auth.user, source.auth.secret, source.logs.globs) == (
        "c",
        "me",
        CANARY,
        ("/logs/*.log",),
    )


def test_the_secret_is_in_no_row_repr_log_or_page(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("test").warning("%r %r", cluster, cluster.source())
        page = client.get(reverse("cluster-edit", args=[cluster.name]))
    assert page.status_code == 200
    seen = [
        repr(Cluster.objects.values().get()),
        repr(cluster.source()),
        caplog.text,
        page.content.decode(),
    ]
    assert not any(CANARY in text for text in seen)
    assert cluster.auth_secret_encrypted not in page.content.decode()


def test_credentials_in_any_log_line_are_taken_out() -> None:
    from ingest.log_lines import TextFormatter

    record = logging.makeLogRecord(
        {"msg": "asked %s", "args": (f"http://me:{CANARY}@h/",), "levelname": "INFO", "name": "x"}
    )
    assert CANARY not in TextFormatter().format(record)
