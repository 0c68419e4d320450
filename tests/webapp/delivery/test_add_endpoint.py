"""Endpoints by the command line."""

import io

import pytest
from django.core.management import CommandError, call_command

from webapp.delivery.models import Endpoint

pytestmark = pytest.mark.django_db
CANARY = "canary-4711"


def test_the_command_adds_an_endpoint_and_never_takes_an_address_as_an_argument(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("WEIR_ENDPOINT_URL", "https://8.8.8.8/hook")
    out = io.StringIO()
    call_command("add_endpoint", "pager", "--match", 'cluster="a"', stdout=out)
    assert out.getvalue().split()[-1].startswith("whsec_")


def test_the_command_asks_for_the_key_that_a_format_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIR_ENDPOINT_URL", "https://8.8.8.8/v2/enqueue")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{CANARY}\n"))
    out = io.StringIO()
    call_command("add_endpoint", "pager", "--format", "pagerduty", stdout=out)
    assert Endpoint.objects.get().credential == CANARY
    assert CANARY not in out.getvalue()


def test_the_command_refuses_what_the_page_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEIR_ENDPOINT_URL", "https://127.0.0.1/")
    with pytest.raises(CommandError, match="WEIR_WEBHOOK_ALLOWED_NETWORKS") as refused:
        call_command("add_endpoint", "pager")
    assert refused.value.returncode == 2
