"""After Back a page shows what is in force: its address, its fields and its rows agree."""

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.django_db]


def test_filters_that_were_typed_and_left_are_those_of_the_address_after_back(
    page, site, complaints
):
    page.goto(site)
    search = page.locator("form.filters input[type=search]").first
    rows = page.locator("table[data-rows] tbody tr")
    everything = rows.count()
    search.fill("clickstream")
    search.press("Enter")
    page.wait_for_url("**q=clickstream**")
    expect(rows).to_have_count(1)
    search.fill("half a wor")
    page.locator("main a", has_text="clickstream").first.click()
    page.wait_for_url("**/jobs/**")
    page.go_back()
    page.wait_for_url("**q=clickstream**")
    expect(search).to_have_value("clickstream")
    expect(rows).to_have_count(1)
    page.go_back()
    page.wait_for_url(lambda address: "q=" not in address)
    expect(search).to_have_value("")
    expect(rows).to_have_count(everything)
    assert complaints == []
