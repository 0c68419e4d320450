"""The recordings that ship with Weir, and the clusters that they are played as."""

import json
from dataclasses import dataclass
from pathlib import Path

RECORDED_ON = "2026-11-21"
PREFIX = "demo-"
LOOKED, REMOVED, AUDITED = "looked", "removed", "audited"
"""Files beside the clusters' folders. ``looked``: its time is that of the last visit. ``removed``:
remove the demo. ``audited``: write checkpoints of current jobs.
"""
CHECKPOINTS, PAST = "checkpoints", "past.json"

PAST_MS = 96 * 3600 * 1000
"""Files of the past turn are older than the audits' age guard of three days."""

NOW_AND_THEN_S = 1800


@dataclass(frozen=True, slots=True)
class Shipped:
    """``recording``: folder. ``jobs``: recorded name → name to show. ``rest_s``: time between
    turns. ``has_past``: there was a turn days ago, whose files are still in storage.
    """

    recording: str
    cluster: str
    jobs: dict[str, str]
    rest_s: int = 0
    has_past: bool = False

    @property
    def name(self) -> str:
        return PREFIX + self.cluster

    @property
    def written_to(self) -> str:
        return "file:/opt/l/lab/run/" + self.recording.replace("/", "-")


SHIPPED = (
    Shipped("1.20.5/E", "payments", {"lab-E-decline": "payments-enrich"}),
    Shipped("1.20.5/F", "web", {"lab-F-expire": "clickstream-sessions"}),
    Shipped("1.20.5/C2", "risk", {"lab-C2-hotkey-hotupstream": "fraud-hotkey"}),
    Shipped("1.20.5/I", "accounting", {"lab-I-kill": "ledger"}, has_past=True),
    Shipped("1.20.5/A", "orders", {"lab-A-healthy": "orders-totals"}),
    Shipped("1.20.5/B", "search", {"lab-B-backpressure": "search-indexer"}, NOW_AND_THEN_S),
    Shipped("1.20.5/J", "billing", {"lab-J-failing": "invoice-matching"}, NOW_AND_THEN_S),
    Shipped("1.20.5/G", "pricing", {"lab-G-savepoint": "price-history"}, NOW_AND_THEN_S),
    Shipped("1.12.5/G", "pricing-1.12", {"lab-G-savepoint": "price-history"}, NOW_AND_THEN_S),
    Shipped(
        "1.20.5/H",
        "catalog",
        {
            "lab-H-1": "catalog-sync",
            **{f"lab-H-legacy-{number}": "catalog-sync" for number in (2, 3, 4)},
            **{f"lab-H-default-{number}": "catalog-sync-copy" for number in (2, 3)},
            **{f"lab-H-claim-{number}": "catalog-sync-claimed" for number in (2, 3, 4)},
        },
        NOW_AND_THEN_S,
        has_past=True,
    ),
    Shipped(
        "1.20.5/K",
        "features",
        {"lab-K-merge": "user-features", "lab-K-merge-2": "user-features"},
        NOW_AND_THEN_S,
        has_past=True,
    ),
    Shipped("1.20.5/L1", "warehouse", {"lab-L1-heap": "stock-levels"}, NOW_AND_THEN_S),
    Shipped("1.20.5/L2", "sensors", {"lab-L2-unaligned": "sensor-alarms"}, NOW_AND_THEN_S),
    Shipped("1.20.5/M", "imports", {"lab-M-finished": "partner-import"}, NOW_AND_THEN_S),
)

CLUSTERS = frozenset(shipped.name for shipped in SHIPPED)
ROOTS = {shipped.written_to: shipped for shipped in SHIPPED}


def recordings() -> Path:
    return Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "recordings"


def recorded_jobs(shipped: Shipped) -> list[str]:
    scenario = json.loads((recordings() / shipped.recording / "scenario.json").read_text())
    return [job["id"] for job in scenario["jobs"]]
