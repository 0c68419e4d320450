"""A list is saved under a name where it is looked at, and opened again from there."""

import pytest
from playwright.sync_api import expect

from webapp.accounts.models import SavedView

pytestmark = [pytest.mark.browser, pytest.mark.django_db]


def test_a_filtered_list_is_saved_from_its_menu_and_opened_by_it_again(page, site, complaints):
    page.goto(f"{site}/?q=clickstream&status=unsteady")
    menu = page.locator("details.saved")
    menu.locator("summary").press("Enter")
    menu.get_by_label("Save what is shown as").fill("Mine")
    menu.get_by_label("share with people who see the same clusters").check()
    menu.get_by_role("button", name="Save view").click()
    page.wait_for_url("**/?q=clickstream&status=unsteady")
    expect(page.locator(".banner.ok")).to_contain_text("The view Mine is saved.")
    assert SavedView.objects.get().is_shared
    page.goto(site)
    menu.locator("summary").click()
    menu.get_by_role("link", name="Mine").click()
    page.wait_for_url("**/?q=clickstream&status=unsteady")
    expect(page.locator("form.filters input[type=search]").first).to_have_value("clickstream")
    assert complaints == []
