"""Report files in a real browser: drawn, read without scrolling, silent on the network, and
printed.
"""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.utils import timezone
from playwright.sync_api import Browser, Page

from tests.e2e.conftest import browser as browser
from tests.webapp.builders import person
from tests.webapp.reports.stories import HOSTILE, expiring, restarting, scope, seen, told
from webapp.reports import orders, work_keys
from webapp.reports.document import Report
from webapp.reports.renderers import html
from webapp.work.perform import perform

pytestmark = [pytest.mark.browser, pytest.mark.django_db]
SCREEN = {"width": 1280, "height": 800}
PAGE = re.compile(rb"/Type\s*/Page\b")


@pytest.fixture
def document(db) -> Report:
    seen()
    return told(expiring())


def opened(
    browser: Browser, document: Report, folder: Path, **options: object
) -> tuple[Page, list[str]]:
    """The page, and everything that it asked for or complained about."""
    file = folder / "report.html"
    file.write_text(html.render(document), encoding="utf-8")
    page = browser.new_context(viewport=SCREEN, **options).new_page()  # type: ignore[arg-type]
    noted: list[str] = []
    page.on(
        "console",
        lambda message: (
            noted.append(message.text) if message.type in ("error", "warning") else None
        ),
    )
    page.on("pageerror", lambda error: noted.append(str(error)))
    page.on(
        "request",
        lambda request: noted.append(request.url) if request.url != file.as_uri() else None,
    )
    page.goto(file.as_uri())
    page.wait_for_selector(".js-plotly-plot .main-svg")
    return page, noted


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_its_chart_is_drawn_and_nothing_is_asked_for(browser, document, tmp_path, theme):
    page, noted = opened(browser, document, tmp_path, color_scheme=theme)
    assert page.locator("[data-figure]").count() == page.locator("[data-state=drawn]").count() == 1
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Light or dark").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    assert noted == []


@pytest.mark.parametrize("name", ["clickstream", HOSTILE])
def test_nothing_of_it_is_wider_than_a_phone(browser, tmp_path, name):
    seen()
    page, _noted = opened(browser, told(expiring(name)), tmp_path)
    page.set_viewport_size({"width": 390, "height": 844})
    # The chart is drawn again, at the width that there is now. The file's policy forbids to wait
    # for a function.
    for _ in range(100):
        width = page.evaluate("document.documentElement.scrollWidth")
        if width <= 390:
            break
        page.wait_for_timeout(100)
    assert width <= 390


def test_a_hostile_name_runs_nothing(browser, tmp_path):
    seen()
    document = told(expiring(HOSTILE))
    page, noted = opened(browser, document, tmp_path)
    assert page.title() != "pwned"
    assert noted == []


def test_a_script_that_slipped_in_would_not_run(browser, document, tmp_path):
    """The file's own policy is the second wall: it names our own scripts and no other."""
    file = tmp_path / "slipped.html"
    file.write_text(
        html.render(document).replace("</body>", "<script>document.title='pwned'</script></body>"),
        encoding="utf-8",
    )
    page = browser.new_page()
    page.goto(file.as_uri())
    page.wait_for_selector(".js-plotly-plot .main-svg")
    assert page.title() != "pwned"


def test_it_is_printed_on_two_sheets_with_what_is_opened_of_the_appendix(browser, tmp_path):
    seen()
    page, _noted = opened(browser, told(expiring(), expiring("orders"), restarting()), tmp_path)
    page.set_viewport_size({"width": 688, "height": 1000})
    assert len(PAGE.findall(page.pdf(prefer_css_page_size=True))) == 2
    for summary in page.locator("#appendix summary").all():
        summary.click()
    assert len(PAGE.findall(page.pdf(prefer_css_page_size=True))) > 2


def test_a_report_opens_on_our_site_in_a_sandbox_with_its_charts(
    browser, transactional_db, live_server, client, tmp_path
):
    seen()
    report = orders.request_report(scope(expiring()), user=None, name="olga", at=timezone.now())
    perform(work_keys.key_of(report.pk))
    client.force_login(person())
    context = browser.new_context(viewport=SCREEN)
    name = settings.SESSION_COOKIE_NAME
    context.add_cookies(
        [{"name": name, "value": client.cookies[name].value, "url": live_server.url}]
    )
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{live_server.url}/reports/{report.uid}/")
    page.get_by_role("link", name="Open with charts").click()
    page.wait_for_selector("[data-state=drawn] .main-svg")
    assert page.evaluate("window.origin") == "null"
    assert errors == []
