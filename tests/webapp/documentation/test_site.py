"""The documentation as ``make docs`` builds it, and as Weir serves it."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import call_command
from django.test import Client
from playwright.sync_api import ConsoleMessage, sync_playwright

from spark_jobs.diagnosis.registry import all_rules
from tests.webapp.documentation.pictures import CHROMIUM, FLAGS, PICTURES
from webapp.config.environment import PROJECT_DIR
from webapp.site.documentation.places import FOLDER, PAGES
from webapp.site.documentation.settings import documented
from webapp.site.views import documentation


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """By the command of the Makefile, elsewhere."""
    makefile = (PROJECT_DIR / "Makefile").read_text()
    (recipe,) = re.findall(r"^\t@\$\(VENV\)/docs/bin/(mkdocs build .*)$", makefile, re.MULTILINE)
    site = tmp_path_factory.mktemp("documentation") / "site"
    command = [sys.executable, "-m", *recipe.split(), "--site-dir", str(site)]
    done = subprocess.run(command, cwd=PROJECT_DIR, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return site


@pytest.fixture
def served(built: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(documentation, "SITE", built)
    return built


@pytest.mark.django_db
def test_pages_that_are_made_from_the_code_are_up_to_date() -> None:
    call_command("generate_docs", "--check")


def test_every_page_is_in_the_contents() -> None:
    def files(entries: Any) -> set[str]:
        if isinstance(entries, str):
            return {entries}
        return set().union(
            *(files(one) for one in (entries.values() if isinstance(entries, dict) else entries))
        )

    nav = yaml.safe_load((FOLDER / "mkdocs.yml").read_text())["nav"]
    assert files(nav) == {path.relative_to(PAGES).as_posix() for path in PAGES.rglob("*.md")}


def test_every_rule_has_its_place_and_its_runbook(built: Path) -> None:
    pages = {
        path.parent.name: path.read_text()
        for path in (built / "reference").glob("rules-*/index.html")
    }
    for rule in all_rules().values():
        page = pages[f"rules-{rule.family}"]
        assert f'id="{rule.id.replace(".", "-").replace("_", "-")}"' in page, rule.id
        assert all(f"<code>{threshold.key}</code>" in page for threshold in rule.thresholds), (
            rule.id
        )
    assert sum(page.count("What it means") for page in pages.values()) == len(all_rules())


def test_every_setting_that_is_read_is_documented() -> None:
    read = set(
        re.findall(
            r'"(WEIR_[A-Z_]+)"', (PROJECT_DIR / "webapp" / "config" / "environment.py").read_text()
        )
    )
    assert read - {name for names, _, _ in documented() for name in names} == set()


def test_no_page_has_a_script_or_a_style_of_its_own_or_loads_from_elsewhere(built: Path) -> None:
    pages = list(built.rglob("*.html"))
    assert len(pages) > 25
    for page in pages:
        text = page.read_text()
        assert not re.search(
            r"<script(?![^>]* src=)|<style|\son[a-z]+=|\sstyle=|javascript:", text
        ), page
        assert not re.search(r"""(?:src|<link[^>]* href)=["'](?:https?:)?//""", text), page


def test_every_picture_of_the_tour_is_one_that_the_script_makes() -> None:
    assert {path.stem for path in (PAGES / "pictures").iterdir()} == set(PICTURES)


def test_it_is_served_to_people_who_are_signed_in(served: Path, viewer: Client) -> None:
    for path, kind in (
        ("", "text/html"),
        ("tour/", "text/html"),
        ("docs.css", "text/css"),
        ("search/search_index.json", "application/json"),
    ):
        answer = viewer.get(f"/docs/{path}")
        assert (answer.status_code, answer["Content-Type"].partition(";")[0]) == (200, kind), path
        assert "unsafe" not in answer["Content-Security-Policy"]
    assert (
        viewer.get("/docs/pictures/fleet.png").content
        == (PAGES / "pictures" / "fleet.png").read_bytes()
    )
    assert Client().get("/docs/tour/").status_code == 302


@pytest.mark.parametrize(
    "path",
    ["../mkdocs.yml", "%2e%2e/mkdocs.yml", "/etc/passwd", "nothing/", "tour", "a" * 5000, "%00"],
)
def test_nothing_but_the_site_is_served(served: Path, viewer: Client, path: str) -> None:
    assert viewer.get(f"/docs/{path}").status_code == 404


def test_where_it_was_not_built_a_page_says_how(
    viewer: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documentation, "SITE", tmp_path)
    answer = viewer.get("/docs/")
    assert answer.status_code == 404 and "make docs" in answer.content.decode()


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_in_a_browser_it_is_found_read_and_left_again(
    served: Path, live_server: Any, viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not CHROMIUM:
        pytest.skip("Chromium is not installed; .ci/run installs it, or set CHROMIUM to its path")
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
    cookies = [
        {"name": name, "value": viewer.cookies[name].value, "url": live_server.url}
        for name in viewer.cookies
    ]
    wrong: list[str] = []
    asked: set[str] = set()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        context = browser.new_context(
            base_url=live_server.url, viewport={"width": 390, "height": 844}
        )
        context.add_cookies(cookies)
        page = context.new_page()
        page.set_default_timeout(60_000)

        def noted(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning"):
                wrong.append(message.text)

        page.on("console", noted)
        page.on("request", lambda request: asked.add(request.url.split("/")[2]))
        page.goto("/docs/tour/")
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        page.keyboard.press("/")
        page.keyboard.type("quarantine grace")
        page.locator("#found a").first.click()
        page.wait_for_url("**/docs/**")
        page.locator("a.back").click()
        page.wait_for_url(f"{live_server.url}/")
        browser.close()
    assert wrong == [] and asked == {live_server.url.split("/")[2]}
