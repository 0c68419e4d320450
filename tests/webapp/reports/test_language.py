"""A report that was made once is read in every reader's language; its JSON and what the API answers
are English.
"""

import json
import re

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation
from rest_framework.test import APIClient

from tests.webapp.reports.stories import expiring, scope, seen
from webapp.reports import orders, work_keys
from webapp.reports.models import IncidentReport
from webapp.work.perform import perform

pytestmark = pytest.mark.django_db
HAN = re.compile("[\u4e00-\u9fff]")
SCRIPT = re.compile(r"<script\b.*?</script>", re.S)
"""plotly.js knows the Chinese calendar."""


@pytest.fixture
def made() -> IncidentReport:
    """Asked for by somebody who reads Chinese."""
    seen()
    with translation.override("zh-hans"):
        report = orders.request_report(scope(expiring()), user=None, name="olga", at=timezone.now())
        perform(work_keys.key_of(report.pk))
    report.refresh_from_db()
    return report


@pytest.fixture
def in_chinese(viewer: Client) -> Client:
    viewer.cookies[settings.LANGUAGE_COOKIE_NAME] = "zh-hans"
    return viewer


def test_what_is_kept_is_english(
    made: IncidentReport,
) -> None:
    assert not HAN.search(json.dumps(made.document, ensure_ascii=False))


def test_the_page_and_the_whole_file_speak_the_readers_language(
    in_chinese: Client, made: IncidentReport
) -> None:
    page = in_chinese.get(reverse("report", args=(made.uid,))).content.decode()
    whole = in_chinese.get(reverse("report-open", args=(made.uid,))).content.decode()
    for said in (page, whole):
        assert "生成报告时尚未结束。" in said or "持续" in said
        assert "Still going on when this report" not in said and "What happened" not in said
        assert "slow-enrich" in said  # names stay
    assert '<html lang="zh-hans"' in whole and "时间线" in whole


def test_the_same_report_is_english_for_the_next_reader(
    viewer: Client, made: IncidentReport
) -> None:
    for name, args in (("report", ()), ("report-open", ()), ("report-download", ("html",))):
        said = viewer.get(reverse(name, args=(made.uid, *args))).content.decode()
        assert "What happened" in said and not HAN.search(
            SCRIPT.sub("", said).replace("简体中文", "")
        )


def test_json_and_the_api_are_english_whatever_is_asked_for(
    in_chinese: Client, writer: APIClient, made: IncidentReport
) -> None:
    assert not HAN.search(
        in_chinese.get(reverse("report-download", args=(made.uid, "json"))).content.decode()
    )
    answer = writer.get(
        f"/api/v1/reports/{made.uid}/files/html/", headers={"accept-language": "zh-hans"}
    )
    text = SCRIPT.sub("", answer.content.decode())
    assert answer.status_code == 200 and not HAN.search(text)
