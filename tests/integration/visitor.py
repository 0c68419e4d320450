"""Somebody who uses Weir by keyboard alone, and looks on each page for what no page may have."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import axe_playwright_python
from playwright.sync_api import Browser, BrowserContext, Page

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
SERIOUS = ("serious", "critical")
PRESSES = 400
"""More than the longest page has stops."""
APPEARS_WITHIN_MS = 300_000
"""What is still being made: pages of the present bring themselves up to date."""
FOCUSED = """(selector) => { const at = document.activeElement; return !!at && at.matches(selector) && at.checkVisibility(); }"""
FORWARD = """(selector) => {
  const wanted = [...document.querySelectorAll(selector)].find((one) => one.checkVisibility());
  return !!wanted && !!(document.activeElement.compareDocumentPosition(wanted) & Node.DOCUMENT_POSITION_FOLLOWING);
}"""

IN_SIGHT = """() => {
  const at = document.activeElement;
  const shown = ({x, y, width, height}) => document.elementFromPoint(x + width / 2, y + height / 2);
  return [...at.getClientRects()].some((box) => { const there = shown(box); return there && (at.contains(there) || there.contains(at)); });
}"""


@dataclass
class Visitor:
    """``faults`` is empty where every page was as it should be."""

    page: Page
    faults: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, browser: Browser, address: str, theme: str, width: int) -> "Visitor":
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=theme, base_url=address
        )  # type: ignore[arg-type]
        visitor = cls(context.new_page())
        page, host = visitor.page, urlsplit(address).netloc
        page.on(
            "console",
            lambda said: (
                visitor.fault(f"console: {said.text}")
                if said.type in ("error", "warning")
                else None
            ),
        )
        page.on("pageerror", lambda error: visitor.fault(f"script: {error}"))
        page.on(
            "request",
            lambda asked: (
                visitor.fault(f"asked {asked.url}")
                if asked.url.startswith("http") and urlsplit(asked.url).netloc != host
                else None
            ),
        )
        return visitor

    @property
    def context(self) -> BrowserContext:
        return self.page.context

    def fault(self, what: str) -> None:
        self.faults.append(f"{urlsplit(self.page.url).path}: {what}")

    def sign_in(self, user: str, password: str) -> None:
        self.page.goto("/sign-in/")
        self.look()
        self.reach("#id_username")
        self.page.keyboard.type(user)
        self.reach("#id_password")
        self.page.keyboard.type(password)
        self.press_and_arrive("Enter")

    def reach(self, selector: str) -> None:
        """Tab to the first place that the selector means, once there is one, forwards or backwards,
        whichever is in its direction.
        """
        self.page.locator(selector).filter(visible=True).first.wait_for(timeout=APPEARS_WITHIN_MS)
        key = "Tab" if self.page.evaluate(FORWARD, selector) else "Shift+Tab"
        for _ in range(PRESSES):
            if self.page.evaluate(FOCUSED, selector):
                if not self.page.evaluate(IN_SIGHT):
                    self.fault(f"{selector} has the focus and is not in occurrence")
                return
            self.page.keyboard.press(key)
        raise AssertionError(f"{selector} is not reached by {key} on {self.page.url}")

    def follow(self, selector: str) -> None:
        """Reach a link or button, press Enter, and look at the page it leads to."""
        self.reach(selector)
        self.press_and_arrive("Enter")

    def press_and_arrive(self, key: str) -> None:
        with self.page.expect_navigation():
            self.page.keyboard.press(key)
        self.look()

    def find(self, words: str) -> None:
        """By the palette: Ctrl K, some words, Enter on the first hit."""
        self.page.keyboard.press("Control+k")
        self.page.wait_for_selector("#palette[open]")
        self.page.keyboard.type(words)
        self.page.wait_for_selector("#palette-results a")
        self.press_and_arrive("Enter")

    def look(self) -> None:
        """Wait until the page is whole, and note what no page may have."""
        self.page.wait_for_load_state("networkidle")
        self.page.evaluate(AXE)
        found = self.page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
        for one in found["violations"]:
            if one["impact"] in SERIOUS:
                self.fault(f"axe, {one['impact']}: {one['id']}: {one['nodes'][0]['html'][:160]}")
        if sideways := self.page.evaluate(
            "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
        ):
            self.fault(f"scrolls {sideways} px sideways")

    def wait_for_words(self, words: str) -> None:
        self.page.locator("main", has_text=re.compile(words, re.IGNORECASE)).wait_for(
            timeout=APPEARS_WITHIN_MS
        )

    def text(self) -> str:
        return re.sub(r"\s+", " ", self.page.inner_text("main"))
