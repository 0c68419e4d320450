"""What somebody who follows the link of a notice wants to know, counted in clicks and keys."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from tests.webapp.delivery.builders import endpoint
from webapp.alerting.evaluation import evaluate
from webapp.alerting.models import Alert, Silence
from webapp.delivery.models import Delivery
from webapp.findings.models import Finding
from webapp.reports.models import IncidentReport

pytestmark = [pytest.mark.browser, pytest.mark.django_db]


@pytest.fixture
def reader(page, site):
    """Came by the link of the notice about ``slow-enrich``; counts what he does from there."""
    Finding.objects.filter(rule="pressure.root").update(data={"host": "flink-tm-2"})
    endpoint(name="on call")
    now = timezone.now()
    for seconds in range(0, 181, 30):
        evaluate(now + timedelta(seconds=seconds))
    [link] = {
        alert.links["alert"]
        for sent in Delivery.objects.all()
        for alert in sent.notice.alerts
        if alert.rule == "pressure.root"
    }
    page.goto(site + link[link.index("/alerts/") :])
    return Reader(page)


class Reader:
    def __init__(self, page):
        self.page, self.clicks = page, 0

    def click(self, role, name):
        self.page.get_by_role(role, name=name).first.click()
        self.clicks += 1
        self.page.wait_for_load_state()


def test_cause_next_step_origin_and_runbook_take_no_click(reader):
    expect(reader.page.get_by_role("heading", name=re.compile("slow-enrich"))).to_be_in_viewport()
    expect(reader.page.get_by_text("Next:").first).to_be_in_viewport()
    expect(reader.page.locator(".runbook")).to_contain_text(re.compile(r"\w{4}"))


@pytest.mark.parametrize(
    ("name", "path", "shown"),
    [
        ("flink-tm-2", "**/hosts/flink-tm-2/**", "h1"),
        ("Log events", "**/jobs/**tab=runtime**#events", "#events li"),
        ("Before and after", "**/before-after/**", "h1"),
        ("Its files", "**/jobs/**tab=state**", "#storage-title"),
        ("Who else has it", "**/findings/?rule=pressure.root", "main tbody tr"),
    ],
)
def test_one_click_leads_to(reader, name, path, shown):
    reader.click("link", name)
    reader.page.wait_for_url(path)
    expect(reader.page.locator(shown).first).to_be_in_viewport()


def test_two_clicks_silence_it(reader):
    reader.click("link", "Silence this")
    reader.click("button", "Silence")
    expect(reader.page.locator("main tbody tr").first).to_contain_text("slow-enrich")
    assert reader.clicks == 2
    assert "slow-enrich" in Silence.objects.get().reason
    assert Alert.objects.filter(rule="pressure.root").exists()


def test_two_clicks_make_a_report(reader):
    reader.click("button", "Make a report")
    reader.page.wait_for_url("**/reports/*/")
    assert reader.clicks <= 2 and IncidentReport.objects.count() == 1
