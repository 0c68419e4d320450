"""A real worker, killed with -9 while it makes a report."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.webapp.pipeline.site import Site, is_running, kill, wait_for

PROJECT = Path(__file__).resolve().parents[3]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with Site(tmp_path / "home") as site:
        yield site


def test_a_worker_killed_while_it_prints_takes_the_browser_along_and_another_process_makes_the_report(
    site, tmp_path
):
    """The worker is told through Redis alone, no beat runs; its browser is a script that never
    ends.
    """
    browser = tmp_path / "endless"
    browser.write_text(f"#!/bin/sh\necho $$ > {tmp_path}/printing\nexec sleep 600\n")
    browser.chmod(0o755)
    site.environment["WEIR_CHROMIUM"] = str(browser)
    worker = site.worker("first", queues="default", concurrency=1)
    ordered(site)
    wait_for(
        lambda: (tmp_path / "printing").exists() and (tmp_path / "printing").read_text().strip(),
        "the browser",
    )
    assert site.count("reports_incidentreport WHERE state = 'running' AND progress = 85") == 1
    kill(worker)
    wait_for(
        lambda: not is_running(int((tmp_path / "printing").read_text())),
        "the end of the browser",
        30,
    )
    site.environment["WEIR_CHROMIUM"] = "no-such-browser"
    ordered(site, "again")
    assert site.count("reports_incidentreport WHERE state = 'done' AND attempts = 2") == 1


def ordered(site: Site, *arguments: str) -> None:
    command = [sys.executable, "-m", "tests.webapp.reports.ordered", *arguments]
    subprocess.run(command, env=site.environment, cwd=PROJECT, check=True, timeout=240)
