"""Notices are in English and UTC, whoever caused them and in whatever language they read pages."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from django.utils import translation

from tests.webapp.delivery.builders import T0, alert, delivery, endpoint, notice
from webapp.delivery.choices import FormatName
from webapp.delivery.formats.base import Addressee, Format, Mail, Outgoing, Rendered
from webapp.delivery.formats.registry import FORMATS
from webapp.delivery.notices import Notice
from webapp.delivery.rendering import render_delivery
from webapp.lib import shown_zone
from webapp.lib.instants import instant_text

pytestmark = pytest.mark.django_db
TOLD = (
    alert(flapping=True, acknowledged_by="olga", muted_count=2, muted=("a", "b")),
    alert(status="resolved", severity="warning"),
)


def of_a_page_in_chinese(kind: str) -> Rendered:
    row = delivery(
        endpoint("https://receiver.example.org/hook", format=kind, emails=["a@example.org"]),
        notice(*TOLD),
    )
    with translation.override("zh-hans"), shown_zone.within(lambda: ZoneInfo("Asia/Shanghai")):
        return render_delivery(row, row.notice, T0)


@pytest.mark.parametrize("kind", FormatName.values)
def test_no_format_has_a_word_in_the_language_of_the_page_that_caused_it(kind: str) -> None:
    found = of_a_page_in_chinese(kind)
    said = f"{found.subject}{found.text}" if isinstance(found, Mail) else found.body.decode()
    assert not any("\u4e00" <= letter <= "\u9fff" for letter in said)
    assert "+08:00" not in said


def test_what_a_format_asks_of_language_and_zone_is_english_and_utc(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def asks(told: Notice, to: Addressee, at: datetime) -> Outgoing:
        return Outgoing(
            to.url,
            (
                f"{translation.get_language()} {translation.gettext('unknown')} {instant_text(at)}"
            ).encode(),
        )

    kind = FORMATS[FormatName.SLACK]
    monkeypatch.setitem(FORMATS, FormatName.SLACK, Format(**{**vars(kind), "render": asks}))
    found = of_a_page_in_chinese("slack")
    assert (
        isinstance(found, Outgoing) and found.body.decode() == "en unknown 2026-03-01 04:10:00 UTC"
    )
