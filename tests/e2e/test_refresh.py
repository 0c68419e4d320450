"""Pages of the present bring themselves up to date in a real browser, and leave the reader where
they are.
"""

import pytest
from playwright.sync_api import expect

from webapp.fleet.models import JobCurrent

pytestmark = [pytest.mark.browser, pytest.mark.django_db]

REFRESH = "document.dispatchEvent(new CustomEvent('weir:refresh'))"


def reveal_advice(page):
    """In one step: once it comes into view, which the focus may have done already, another element
    takes its place.
    """
    page.locator("#advice").evaluate("advice => advice.scrollIntoView()")


def test_news_come_without_a_reload_and_focus_scroll_and_charts_stay(page, site, complaints):
    page.set_viewport_size({"width": 1280, "height": 500})
    page.goto(f"{site}/jobs/prod-eu/{'c' * 32}/")
    page.locator("[data-chart*=strip]").scroll_into_view_if_needed()
    page.locator(".main-svg").first.wait_for()
    link = page.locator("#advice ~ div a, main a").last
    link.focus()
    reveal_advice(page)
    expect(page.locator("#advice")).not_to_contain_text("Calculated when")
    page.wait_for_load_state("networkidle")
    link.scroll_into_view_if_needed()
    scrolled = page.evaluate("window.scrollY")
    page.evaluate("window.untouched = document.querySelector('.main-svg')")
    JobCurrent.objects.filter(name="clickstream").update(restarts=77)
    page.evaluate(REFRESH)
    expect(page.locator(".kpi", has_text="Restarts").locator("b")).to_have_text("77")
    assert page.evaluate("window.untouched.isConnected")
    assert page.evaluate("document.activeElement.tagName") == "A"
    assert page.evaluate("window.scrollY") == scrolled
    assert complaints == []


def test_a_row_that_moves_takes_its_focus_along(page, site):
    page.goto(site)
    page.locator("a", has_text="clickstream").focus()
    JobCurrent.objects.filter(name="clickstream").update(health=100)
    page.evaluate(REFRESH)
    expect(page.locator("tr", has_text="clickstream")).to_contain_text("100")
    assert page.evaluate("document.activeElement.innerText") == "clickstream"


def test_a_reader_pauses_it_and_the_page_says_since_when_it_is_old(page, site):
    page.goto(site)
    page.locator("[data-refresh-toggle]").click()
    expect(page.locator("#refresh-state")).to_contain_text("paused")
    JobCurrent.objects.filter(name="clickstream").update(name="renamed")
    page.evaluate(REFRESH)
    page.wait_for_timeout(500)
    assert page.locator("a", has_text="renamed").count() == 0
    page.locator("[data-refresh-toggle]").click()
    expect(page.locator("a", has_text="renamed").first).to_be_visible()
    expect(page.locator("#refresh-state")).to_have_count(0)


def test_entries_that_are_not_sent_are_not_taken_away(page, site):
    page.goto(site)
    page.locator("#filter-search").fill("ord")
    page.evaluate(REFRESH)
    expect(page.locator("#refresh-state")).to_contain_text("entries that are not sent")
    assert page.locator("#filter-search").input_value() == "ord"


def test_a_server_that_is_gone_is_said_with_the_time_of_what_is_shown(page, site):
    page.goto(site)
    page.route("**/*", lambda route: route.abort())
    page.evaluate(REFRESH)
    expect(page.locator("#refresh-state")).to_contain_text("the server cannot be reached")
    page.unroute("**/*")
    page.evaluate(REFRESH)
    expect(page.locator("#refresh-state")).to_have_count(0)
