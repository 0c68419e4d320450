"""Pictures of the five-minute tour, taken by Chromium of a running demo.

``python -m tests.webapp.documentation.pictures http://127.0.0.1:8000 admin PASSWORD`` writes those
of ``webapp/site/docs/pages/pictures``. Start the demo with ``make run`` some ten minutes before, so
that its storage was audited and a plan waits for approval.
"""

import argparse
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from playwright.sync_api import Page, TimeoutError, sync_playwright

FOLDER = Path(__file__).parents[3] / "webapp" / "site" / "docs" / "pages" / "pictures"
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
]
RANGE = "from=now-15m&to=now"
"""A demo has not run for long."""
SIZE = {"width": 1280, "height": 800}


def job(page: Page, name: str) -> None:
    page.goto(f"/?{RANGE}")
    page.locator(f"table a:text-is('{name}'):visible").first.click(timeout=5_000)


def until_it_shows(page: Page, text: str, opened: Callable[[], object]) -> None:
    """The demo plays in turns: not each of its troubles is there at each time."""
    for _ in range(30):
        with suppress(TimeoutError):
            opened()
            page.wait_for_load_state("networkidle")
            if page.get_by_text(text).count():
                return
        page.wait_for_timeout(5_000)


def fleet(page: Page) -> None:
    until_it_shows(page, "Origin of back-pressure", lambda: page.goto("/"))


def declined(page: Page) -> None:
    job(page, "payments-enrich")


def checkpoint(page: Page) -> None:
    def newest() -> None:
        page.goto("/")
        page.locator("main a[href*='/checkpoints/']:has-text('declined')").first.click()

    until_it_shows(page, "Had not acknowledged", newest)


def pressure(page: Page) -> None:
    def tab() -> None:
        job(page, "clickstream-sessions")
        page.locator("#parts").get_by_text("Pressure", exact=True).click()

    until_it_shows(page, "Where the pressure comes from", tab)
    page.locator("#graph").evaluate(
        "graph => window.scrollTo(0, graph.getBoundingClientRect().top + window.scrollY - 72)"
    )


def storage(page: Page) -> None:
    page.goto("/")
    page.locator("main a[href*='/storage/root/']").first.click()


def plan(page: Page) -> None:
    page.goto("/storage/plans/")
    page.locator("main table a[href*='/storage/plans/']").first.click()


PICTURES: dict[str, Callable[[Page], None]] = {
    "fleet": fleet,
    "job": declined,
    "checkpoint": checkpoint,
    "pressure": pressure,
    "storage": storage,
    "plan": plan,
}


def take(url: str, user: str, password: str, names: list[str], folder: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_context(
            base_url=url, viewport=SIZE, color_scheme="light", reduced_motion="reduce"
        ).new_page()
        page.set_default_timeout(60_000)
        page.goto("/")
        page.fill("[name=username]", user)
        page.fill("[name=password]", password)
        page.press("[name=password]", "Enter")
        page.wait_for_load_state("networkidle")
        for name in names:
            PICTURES[name](page)
            page.wait_for_load_state("networkidle")
            page.wait_for_timeout(1_500)
            page.screenshot(path=folder / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("user")
    parser.add_argument("password")
    parser.add_argument("--only", nargs="*", choices=sorted(PICTURES), default=list(PICTURES))
    parser.add_argument("--out", type=Path, default=FOLDER)
    given = parser.parse_args()
    take(given.url, given.user, given.password, given.only, given.out)
