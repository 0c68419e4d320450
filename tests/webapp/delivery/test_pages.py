"""Pages of endpoints and deliveries: viewers read, operators act, and nothing secret is ever
shown.
"""

import re
from datetime import timedelta

import pytest
from django.core.cache import cache
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone

from tests.webapp.delivery.builders import LOOPBACK, alert, delivery, endpoint, notice
from tests.webapp.delivery.receiver import Receiver
from webapp.config import encryption
from webapp.delivery.models import Delivery, Endpoint
from webapp.delivery.sending import send_due

pytestmark = pytest.mark.django_db
CANARY = "canary-4711"
NEW = {
    "name": "pager",
    "format": "weir",
    "url": f"https://8.8.8.8/{CANARY}",
    "min_severity": "warning",
    "matchers": "",
}


def text(answer: object) -> str:
    return answer.content.decode()  # type: ignore[attr-defined,no-any-return]


def test_an_empty_list_says_that_nobody_is_told(viewer: Client) -> None:
    assert "Nobody is notified yet" in text(viewer.get(reverse("endpoints")))
    assert "Nothing was sent yet" in text(viewer.get(reverse("deliveries")))


def test_a_secret_is_shown_once_and_addresses_never(operator: Client) -> None:
    shown = text(operator.post(reverse("endpoint-add"), NEW))
    secret = re.search(r"whsec_[A-Za-z0-9+/=]+", shown)
    assert secret
    found = Endpoint.objects.get()
    assert (found.url, found.secrets_at(timezone.now())) == (NEW["url"], (secret[0],))
    for name in ("endpoint", "endpoint-edit", "endpoint-remove"):
        page = text(operator.get(reverse(name, args=[found.pk])))
        assert CANARY not in page
        assert "whsec_" not in page
    assert CANARY not in text(operator.get(reverse("endpoints")))


def test_a_new_secret_lets_the_former_sign_for_a_day(operator: Client) -> None:
    found = endpoint()
    (old,) = found.secrets_at(timezone.now())
    shown = text(operator.post(reverse("endpoint-rotate", args=[found.pk])))
    found.refresh_from_db()
    new, former = found.secrets_at(timezone.now())
    assert former == old
    assert new in shown
    assert old not in shown


@pytest.mark.parametrize("name", ["pagerduty", "jsm", "incidentio", "feishu", "dingtalk"])
def test_a_stored_key_does_not_go_with_a_changed_address(operator: Client, name: str) -> None:
    found = endpoint(
        "https://8.8.8.8/kept",
        format=name,
        credential_encrypted=encryption.encrypt("canary-key"),
        secret_encrypted="",
    )
    changed = {**NEW, "name": found.name, "format": name, "url": "https://8.8.4.4/kept"}
    assert "enter the secret again" in text(
        operator.post(reverse("endpoint-edit", args=[found.pk]), changed)
    )
    for moved in ("https://8.8.8.8:8443/kept", "https://dns.google.invalid/kept"):
        operator.post(reverse("endpoint-edit", args=[found.pk]), {**changed, "url": moved})
    assert Endpoint.objects.get().url == "https://8.8.8.8/kept"
    operator.post(
        reverse("endpoint-edit", args=[found.pk]),
        {**changed, "url": "https://8.8.8.8:443/another/path"},
    )
    assert (Endpoint.objects.get().url, Endpoint.objects.get().credential) == (
        "https://8.8.8.8/another/path",
        "canary-key",
    )
    operator.post(reverse("endpoint-edit", args=[found.pk]), {**changed, "credential": "new-key"})
    assert (Endpoint.objects.get().url, Endpoint.objects.get().credential) == (
        "https://8.8.4.4/kept",
        "new-key",
    )


def test_a_key_of_one_system_is_not_kept_for_another(operator: Client) -> None:
    found = endpoint(
        "https://8.8.8.8/kept",
        format="feishu",
        credential_encrypted=encryption.encrypt("canary-key"),
        secret_encrypted="",
    )
    operator.post(
        reverse("endpoint-edit", args=[found.pk]),
        {**NEW, "name": found.name, "format": "slack", "url": "https://8.8.4.4/"},
    )
    assert (Endpoint.objects.get().format, Endpoint.objects.get().credential) == (
        "slack",
        "",
    )


def test_a_change_without_an_address_keeps_the_stored_one(operator: Client) -> None:
    found = endpoint("https://8.8.8.8/kept")
    operator.post(
        reverse("endpoint-edit", args=[found.pk]),
        {**NEW, "name": "renamed", "url": "", "matchers": 'cluster="a"\njob=~"b.*"'},
    )
    found.refresh_from_db()
    assert (found.name, found.url) == ("renamed", "https://8.8.8.8/kept")
    assert [str(one) for one in found.parsed_matchers] == ['cluster="a"', 'job=~"b.*"']


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"url": "https://127.0.0.1/"}, "WEIR_WEBHOOK_ALLOWED_NETWORKS"),
        ({"url": "https://169.254.169.254/"}, "nothing may be sent to"),
        ({"url": "http://8.8.8.8/"}, "https://"),
        ({"url": ""}, "Give the address"),
        ({"format": "pagerduty", "url": ""}, "routing"),
        ({"format": "jsm", "url": ""}, "API key"),
        ({"format": "incidentio"}, "Token"),
        ({"format": "telegram", "url": "https://8.8.8.8/bot1:x/sendMessage"}, "chat_id="),
        ({"format": "email", "emails": "nobody"}, "mail addresses"),
        ({"matchers": "nonsense"}, "is not a matcher"),
        ({"matchers": 'job=~"(unclosed"'}, "RE2"),
        ({"matchers": 'job=~"(?=look)ahead"'}, "RE2"),
        ({"matchers": "a=b\n" * 11}, "at most 10"),
        ({"name": "taken"}, "already"),
        ({"owner_email": "x"}, "mail"),
        ({"owner_email": f"{'x' * 250}@a.example"}, "Give one mail address"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(
    operator: Client, fields: dict[str, str], says: str
) -> None:
    endpoint(name="taken")
    assert says in text(operator.post(reverse("endpoint-add"), {**NEW, **fields}))
    assert Endpoint.objects.count() == 1


def test_pagerduty_needs_its_key_and_knows_its_address(operator: Client) -> None:
    with override_settings():
        answer = operator.post(
            reverse("endpoint-add"),
            {**NEW, "format": "pagerduty", "url": "https://8.8.8.8/v2", "credential": CANARY},
        )
    assert answer.status_code == 302
    assert Endpoint.objects.get().credential == CANARY
    assert CANARY not in text(operator.get(answer.headers["location"]))


@pytest.mark.parametrize(
    "name",
    ["endpoint-edit", "endpoint-rotate", "endpoint-test", "endpoint-switch", "endpoint-remove"],
)
def test_viewers_may_not_act(viewer: Client, name: str) -> None:
    found = endpoint()
    assert viewer.post(reverse(name, args=[found.pk]), {"name": found.name}).status_code == 403
    assert Endpoint.objects.filter(enabled=True).count() == 1
    assert not Delivery.objects.exists()


def test_the_test_button_leads_to_the_log_of_the_test(operator: Client, receiver: Receiver) -> None:
    found = endpoint(f"{receiver.url}/ok")
    answer = operator.post(reverse("endpoint-test", args=[found.pk]), follow=True)
    assert "Not tried yet" in text(answer) and answer["Refresh"] == "2"
    send_due(LOOPBACK)
    row = Delivery.objects.get()
    answer = operator.get(reverse("delivery", args=[row.uid]))
    assert "200 taken" in text(answer) and "Refresh" not in answer


def test_a_delivery_that_nobody_sends_is_not_watched_forever(operator: Client) -> None:
    row = delivery(endpoint(), next_attempt_at=timezone.now() - timedelta(minutes=5))
    answer = operator.get(reverse("delivery", args=[row.uid]))
    assert "Not tried yet" in text(answer) and "Refresh" not in answer


def test_a_dead_delivery_is_sent_again(operator: Client) -> None:
    row = delivery(endpoint(), state="dead", tries=10, ended_at=timezone.now())
    operator.post(reverse("delivery-replay", args=[row.uid]))
    row.refresh_from_db()
    assert (row.state, row.tries, row.ended_at) == ("pending", 0, None)


def test_dead_deliveries_of_an_endpoint_are_sent_again(operator: Client) -> None:
    to = endpoint()
    rows = [
        delivery(to, notice(made_at=timezone.now()), state=state)
        for state in ("dead", "dead", "delivered", "pending")
    ]
    other = delivery(endpoint(), state="dead")
    answer = operator.post(reverse("deliveries-replay"), {"endpoint": to.pk}, follow=True)
    assert "2 deliveries are sent again" in text(answer)
    states = [Delivery.objects.get(pk=row.pk).state for row in (*rows, other)]
    assert states == ["pending", "pending", "delivered", "pending", "dead"]


@pytest.mark.parametrize("pk", ["", "x", "9" * 30])
def test_deliveries_of_no_endpoint_are_not_sent_again(operator: Client, pk: str) -> None:
    delivery(endpoint(), state="dead")
    assert operator.post(reverse("deliveries-replay"), {"endpoint": pk}).status_code == 404
    assert Delivery.objects.get().state == "dead"


def test_an_endpoint_is_removed_only_when_its_name_was_typed(operator: Client) -> None:
    found = endpoint(name="keep me")
    operator.post(reverse("endpoint-remove", args=[found.pk]), {"name": "keep"})
    assert Endpoint.objects.exists()
    operator.post(reverse("endpoint-remove", args=[found.pk]), {"name": "keep me"})
    assert not Endpoint.objects.exists()


@pytest.mark.parametrize("name", ["endpoints", "deliveries"])
def test_the_count_of_queries_does_not_grow_with_the_rows(viewer: Client, name: str) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    counts = []
    for many in (2, 20):
        for _ in range(many):
            delivery(endpoint())
        cache.clear()
        with CaptureQueriesContext(connection) as queries:
            assert viewer.get(reverse(name)).status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 15


def test_filters_and_pages_and_exports_agree(viewer: Client) -> None:
    to = endpoint(name="first")
    for number in range(60):
        delivery(to, notice(alert()), state="dead" if number % 2 else "pending")
    page = viewer.get(reverse("deliveries"), {"state": "dead", "endpoint": to.pk})
    assert len(page.context["rows"]) == 30
    assert "older" in text(viewer.get(reverse("deliveries")))


def test_hostile_names_are_text(viewer: Client) -> None:
    evil = "<script>alert(1)</script>"
    row = delivery(endpoint(name=evil), notice(alert(title=evil, job_name=evil)))
    for page in (
        reverse("endpoints"),
        reverse("deliveries"),
        reverse("delivery", args=[row.uid]),
        reverse("endpoint", args=[row.endpoint_id]),
    ):
        assert "<script>alert" not in text(viewer.get(page))


def test_a_delivery_says_how_many_alerts_there_are_where_it_shows_fewer(viewer: Client) -> None:
    few = delivery(endpoint())
    many = delivery(endpoint(), notice(*(alert() for _ in range(25)), alerts_total=25))
    assert "in all" not in text(viewer.get(reverse("delivery", args=[few.uid])))
    assert "25 in all" in text(viewer.get(reverse("delivery", args=[many.uid])))
