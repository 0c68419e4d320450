"""The living demo by keyboard alone: as each person that Weir is made for, on SQLite and
PostgreSQL, in both themes, wide and narrow.
"""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.e2e.conftest import browser  # noqa: F401  (a fixture)
from tests.integration.running import RunningWeir, until
from tests.integration.visitor import APPEARS_WITHIN_MS, Visitor
from tests.postgresql import postgresql

pytestmark = [pytest.mark.integration, pytest.mark.long]

TAKEN_BACK = "A minute that was still running led to this finding"
TAKEN_BACK_AT_MOST = 5
SCREENS = [("light", 1440), ("dark", 1440), ("light", 390), ("dark", 390)]


@pytest.fixture(scope="module", params=["SQLite", "PostgreSQL"])
def weir(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningWeir]:
    """A fleet that lives, as soon as a cause is named on it: the others come while it is looked
    at.
    """
    with ExitStack() as stack:
        variables = {}
        if request.param == "PostgreSQL":
            variables["WEIR_DATABASE_URL"] = stack.enter_context(postgresql()).get_uri()
        running = stack.enter_context(
            RunningWeir(tmp_path_factory.mktemp("persons") / "home", **variables)
        )
        running.wait_up(1200)
        assert running.sign_in(*running.printed_sign_in())
        newest(running, "checkpoint.declined")
        yield running


@pytest.fixture(params=SCREENS, ids=[f"{theme}-{width}" for theme, width in SCREENS])
def visitor(
    request: pytest.FixtureRequest,
    browser: Browser,  # noqa: F811
    weir: RunningWeir,
) -> Iterator[Visitor]:
    visitor = Visitor.of(browser, f"http://{weir.bind}", *request.param)
    visitor.sign_in(*weir.printed_sign_in())
    yield visitor
    visitor.context.close()
    assert visitor.faults == []


def findings(weir: RunningWeir, rule: str) -> list[dict[str, Any]]:
    """Newest first, closed ones too: each round of the demo ends what the one before had."""
    found: list[dict[str, Any]] = weir.api(f"/api/v1/findings/?rule={rule}&state=any")["results"]
    return found


def newest(weir: RunningWeir, rule: str) -> dict[str, Any]:
    """Each round takes a minute to its trouble, and what a whole minute does not bear out is taken
    back.
    """
    found: list[dict[str, Any]] = until(
        partial(findings, weir, rule), 300, f"a finding of {rule}", every_s=2
    )
    return found[0]


def opens_a_finding(visitor: Visitor) -> str:
    """What a page of a job leads to, and the text there. Between the page and the key that follows
    its link a whole minute may have taken the finding back, which is said: then the job has others.
    """
    of_job = visitor.page.url
    for _ in range(TAKEN_BACK_AT_MOST):
        visitor.follow("main h3 a[href^='/findings/'], main a.name[href^='/findings/']")
        if TAKEN_BACK not in (told := visitor.text()):
            return told
        visitor.page.goto(of_job)
        visitor.look()
    raise AssertionError(f"All findings of {of_job} were taken back before they were opened")


def test_on_call_goes_from_the_fleet_over_a_sick_job_to_cause_evidence_and_runbook(
    visitor: Visitor, weir: RunningWeir
) -> None:
    visitor.follow("main .jobs a[href^='/jobs/']")
    told = opens_a_finding(visitor)
    assert "Next:" in told and "Runbook" in told and "Evidence" in told
    visitor.follow("main dl.facts a[href^='/rules/']")
    assert "Look first" in visitor.text() or "Act now" in visitor.text()


def test_on_call_finds_who_declined_a_checkpoint_and_what_its_log_says(
    visitor: Visitor, weir: RunningWeir
) -> None:
    finding = newest(weir, "checkpoint.declined")
    visitor.page.goto(f"/findings/{finding['id']}/")
    visitor.look()
    visitor.follow("main .crumb a[href^='/jobs/']")
    visitor.follow("main a[href*='/checkpoints/']")
    told = visitor.text()
    assert re.search(r"enrich|declined", told), told[:500]


def test_on_call_finds_the_origin_of_back_pressure_and_its_subtasks(
    visitor: Visitor, weir: RunningWeir
) -> None:
    finding = newest(weir, "pressure.root")
    visitor.page.goto(f"/findings/{finding['id']}/")
    visitor.look()
    assert finding["title"] in visitor.text()
    visitor.follow("main .crumb a[href^='/jobs/']")
    visitor.follow("main a[href*='tab=pressure']")
    assert visitor.page.locator("svg.graph, .graph").count()


def test_the_platform_owner_goes_from_storage_to_orphans_and_a_plan_that_waits(
    visitor: Visitor,
) -> None:
    visitor.follow("header a[href^='/storage/']")
    visitor.follow("main a[href^='/storage/root/']")
    visitor.wait_for_words("orphan")
    visitor.follow("header a[href^='/storage/']")
    visitor.follow("main a[href='/storage/plans/']")
    visitor.follow("main a[href^='/storage/plans/']:not([href='/storage/plans/'])")
    visitor.wait_for_words("approv")


def test_the_platform_owner_sees_what_a_checkpoint_depends_on(
    visitor: Visitor, weir: RunningWeir
) -> None:
    finding = newest(weir, "checkpoint.full_after_savepoint")
    visitor.page.goto(f"/jobs/{finding['cluster']}/{finding['job_id']}/")
    visitor.look()
    visitor.follow("main a[href*='/checkpoints/']")
    assert re.search(r"file|state|subtask", visitor.text())


def test_the_job_owner_sees_size_over_time_and_what_an_event_changed(
    visitor: Visitor, weir: RunningWeir
) -> None:
    finding = newest(weir, "restart.loop")
    visitor.page.goto(f"/jobs/{finding['cluster']}/{finding['job_id']}/")
    visitor.look()
    visitor.follow("main a[href*='tab=runtime']")
    visitor.follow("main a[href*='/before-after/']")
    assert "restart" in visitor.text().lower()


def test_the_team_lead_reads_what_happened_and_takes_it_along(visitor: Visitor) -> None:
    visitor.follow("header a[href^='/reports/']")
    visitor.follow("main a[href='/reports/new/']")
    visitor.reach("#order input[type=checkbox]")
    visitor.page.keyboard.press("Space")
    visitor.follow("#order button[type=submit]")
    for form, begins in (("json", b"{"), ("html", b"<!doctype")):
        # A report that is still being made shows its progress, and its files once it is done.
        link = visitor.page.locator(f"main .downloads a[href$='/report.{form}']")
        link.wait_for(timeout=APPEARS_WITHIN_MS)
        body = visitor.context.request.get(str(link.get_attribute("href"))).body()
        assert body.lower().startswith(begins), (form, body[:80])


def test_another_system_reads_the_same_cause_over_the_api(weir: RunningWeir) -> None:
    finding = newest(weir, "checkpoint.declined")
    status, _address, page = weir.page(f"/findings/{finding['id']}/")
    assert status == 200
    assert json.dumps(finding["title"]).strip('"') in page or finding["title"] in page
    assert "weir_" in weir.page("/metrics")[2]
