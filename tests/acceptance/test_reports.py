"""The incident report of recordings, through the real command: its first screen names what
happened, when, why and what to do.
"""

import json
from pathlib import Path

import pytest

from tests.acceptance.homes import Instance, cluster_of
from tests.acceptance.shown_figures import means
from tests.raw_outages import raw_outages
from tests.webapp.analyses.answers import facts_of

RECORDED = {
    "1.20.5/F": {
        "tone": "crit",
        "title": "lab-F-expire: Checkpoints expired",
        "headline": (
            "9 checkpoints expired after 4 s, barrier held by back-pressure from slow-enrich"
        ),
        "when": "2026-11-21 04:14:07 – 04:15:",
        "why": [
            "slow-enrich back-pressures Source: clicks and parse",
            "9 checkpoints expired",
        ],
        "cost": "No checkpoint completed for ",
        "next": [
            "Take a flame graph or thread dump of slow-enrich",
            "Find out why slow-enrich is slow",
        ],
    },
    "1.20.5/E": {
        "tone": "warn",
        "title": "lab-E-decline: Checkpoints declined",
        "headline": "7 checkpoints declined by enrich/1 on flink-tm-2",
        "when": "2026-11-21 04:12:30 – 04:13:24 UTC",
        "why": ["7 checkpoints declined by enrich/1 on flink-tm-2"],
        "cost": "7 recovery points lost",
        "next": ["Look at the exception and at the storage as seen from that host"],
    },
    "1.20.5/J": {
        "tone": "crit",
        "title": "lab-J-failing: Restart loop",
        "headline": "5 restart episodes within 10 min",
        "when": "2026-11-21 04:19:",
        "why": ["5 restart episodes within 10 min"],
        "cost": "in 5 outages",
        "next": ["Read the root exception"],
    },
    "1.12.5/G": {
        "tone": "warn",
        "title": "lab-G-savepoint: Full upload after a savepoint",
        "headline": "Checkpoint 8 uploaded 8",
        "when": "2026-11-21 04:19:0",
        "why": ["Checkpoint 8 uploaded 8"],
        "cost": "were uploaded in excess",
        "next": ["FLINK-23949 is in releases since 1.11.0, fixed in 1.13.3"],
    },
}


@pytest.fixture(scope="module")
def reported(instance: Instance, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Recording → folder with its report in every form."""
    folders = {name: tmp_path_factory.mktemp("report") for name in RECORDED}
    instance.manage_all(
        *(
            ("incident_report", "--cluster", cluster_of(name), "--out", str(folder))
            for name, folder in folders.items()
        )
    )
    return folders


@pytest.mark.parametrize("name", RECORDED)
def test_the_first_screen_names_what_happened_when_why_and_what_to_do(
    reported: dict[str, Path], name: str
) -> None:
    wanted, document = RECORDED[name], json.loads((reported[name] / "report.json").read_text())
    pages = document["pages"]
    lists = {one["title"]: one["lines"] for one in pages["blocks"] if one["kind"] == "advice"}
    assert (document["title"], pages["verdict"]["tone"]) == (wanted["title"], wanted["tone"])
    assert pages["verdict"]["sentence"].startswith(str(wanted["headline"]))
    assert str(facts_of(pages)["when"]).startswith(str(wanted["when"]))
    why = zip(lists["Why"], wanted["why"], strict=True)
    assert [line[: len(begin)] for line, begin in why] == wanted["why"]
    assert any(str(wanted["cost"]) in line for line in lists["What it cost"])
    steps = zip(lists["What to do"], wanted["next"], strict=True)
    assert [step for line, step in steps if step in line] == wanted["next"]


@pytest.mark.parametrize("name", RECORDED)
def test_the_file_says_the_headline_first(reported: dict[str, Path], name: str) -> None:
    text = (reported[name] / "report.html").read_text(encoding="utf-8")
    assert str(RECORDED[name]["headline"]) in text.partition('id="table-timeline"')[0]


def test_the_cost_of_a_failing_job_is_what_its_log_tells(reported: dict[str, Path]) -> None:
    report = json.loads((reported["1.20.5/J"] / "report.json").read_text())
    (costs,) = [
        one["lines"] for one in report["pages"]["blocks"] if one.get("title") == "What it cost"
    ]
    raw = raw_outages("1.20.5/J")
    (down,) = [line.removeprefix("Down for ") for line in costs if line.startswith("Down for ")]
    lasted, _, times = down.partition(" in ")
    assert means(lasted, sum(one.ended_ms - one.begun_ms for one in raw))
    assert times == f"{len(raw)} outages."
    (again,) = [line for line in costs if line.startswith("Processed again: the records of ")]
    replayed, _, _ = again.removeprefix("Processed again: the records of ").partition(";")
    assert means(replayed, sum(one.begun_ms - one.restored_trigger_ms for one in raw))
