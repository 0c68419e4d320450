"""Trying a connection: what Weir would see of a cluster, within ten seconds."""

from dataclasses import dataclass

from webapp.fleet.models import Cluster

TIMEOUT_S = 8


@dataclass(frozen=True)
class TestReport:
    """``sees`` and ``misses`` are short sentences; ``sentence`` sums them up."""

    reachable: bool
    sentence: str
    sees: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()


def test_connection(cluster: Cluster) -> TestReport:
    return TestReport(False, "not wired")
