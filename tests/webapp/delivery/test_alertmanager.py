"""A real Alertmanager takes what we send, groups it, and sees what is over."""

import json
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from tests.webapp.delivery.builders import LOOPBACK, alert, delivery, endpoint, notice
from tests.webapp.delivery.receiver import Receiver
from webapp.delivery.models import Delivery
from webapp.delivery.notices import Notice, NoticeAlert
from webapp.delivery.sending import send_due

ALERTMANAGER = shutil.which("prometheus-alertmanager")
pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(
        ALERTMANAGER is None, reason="needs prometheus-alertmanager, which .ci/run installs"
    ),
]
CONFIGURATION = """
route:
  receiver: people
  group_by: [cluster, family]
  group_wait: 1s
  group_interval: 1s
  repeat_interval: 1h
receivers:
  - name: people
    webhook_configs:
      - url: {url}
        send_resolved: true
"""


@pytest.fixture
def alertmanager(tmp_path: Path, receiver: Receiver) -> Iterator[str]:
    configuration = tmp_path / "alertmanager.yml"
    configuration.write_text(CONFIGURATION.format(url=f"{receiver.url}/people"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [
        f"--config.file={configuration}",
        f"--storage.path={tmp_path}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [str(ALERTMANAGER), *words, "--cluster.listen-address="], stdout=log, stderr=log
        )
    url = f"http://127.0.0.1:{port}"
    try:
        until(lambda: asked(f"{url}/-/ready") is not None, "Alertmanager")
        yield url
    finally:
        process.kill()
        process.wait()


def asked(url: str) -> bytes | None:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bytes(answer.read())
    except OSError:
        return None


def until(condition: Callable[[], Any], what: str) -> Any:
    give_up = time.monotonic() + 30
    while not (found := condition()):
        assert time.monotonic() < give_up, f"{what} did not come"
        time.sleep(0.1)
    return found


def groups(url: str) -> dict[tuple[str, str], set[str]]:
    """Cluster and family → the jobs of their alerts."""
    found = json.loads(asked(f"{url}/api/v2/alerts/groups") or b"[]")
    return {
        (group["labels"]["cluster"], group["labels"]["family"]): {
            one["labels"]["job"] for one in group["alerts"]
        }
        for group in found
    }


def told(*alerts: NoticeAlert, **fields: Any) -> Notice:
    return notice(*alerts, made_at=timezone.now(), **fields)


def test_it_takes_our_alerts_groups_them_and_tells_when_they_are_over(
    alertmanager: str, receiver: Receiver
) -> None:
    to = endpoint(alertmanager, format="alertmanager")
    began = timezone.now() - timedelta(minutes=3)
    orders = alert(job_name="orders", starts_at=began)
    clicks = alert(job_name="clicks", starts_at=began)
    slow = alert(
        job_name="orders",
        family="pressure",
        rule="pressure.root",
        severity="warning",
        starts_at=began,
    )
    sent = [delivery(to, told(orders, clicks)), delivery(to, told(slow))]
    send_due(LOOPBACK)
    assert [Delivery.objects.get(pk=row.pk).state for row in sent] == ["delivered", "delivered"]
    expected = {
        ("prod-eu", "checkpoint"): {"orders", "clicks"},
        ("prod-eu", "pressure"): {"orders"},
    }
    until(lambda: groups(alertmanager) == expected, "the groups")
    until(lambda: len(receiver.of("/people")) >= 2, "what Alertmanager tells")

    over = alert(**{**vars(orders), "status": "resolved", "ends_at": timezone.now()})
    delivery(to, told(over, clicks, changed=frozenset({over.uid})))
    send_due(LOOPBACK)
    until(
        lambda: groups(alertmanager)["prod-eu", "checkpoint"] == {"clicks"}, "the end of an alert"
    )
    said = until(
        lambda: [
            one
            for got in receiver.of("/people")
            for one in json.loads(got.body)["alerts"]
            if one["status"] == "resolved"
        ],
        "news",
    )
    assert [(one["labels"]["alertname"], one["labels"]["job"]) for one in said] == [
        ("checkpoint.declined", "orders")
    ]
    assert said[0]["annotations"]["summary"] == "Checkpoints of orders are declined"


def test_it_takes_the_most_hostile_names(alertmanager: str) -> None:
    to = endpoint(alertmanager, format="alertmanager")
    names = [
        "<script>alert(1)</script>",
        "x" * 5_000,
        "\u202egnp.exe",
        "a\nb",
        "half \ud83d",
        '"}',
        "=cmd()",
    ]
    row = delivery(
        to, told(*(alert(job_name=name, subject=name, labels={name: name}) for name in names))
    )
    send_due(LOOPBACK)
    assert Delivery.objects.get(pk=row.pk).state == "delivered"
    until(
        lambda: len(groups(alertmanager).get(("prod-eu", "checkpoint"), ())) == len(names),
        "all of them",
    )
