"""Trying a connection: what Weir would see of a cluster, within ten seconds."""

from dataclasses import dataclass

from ingest.errors import IngestError
from ingest.flink_rest.probe import probe
from webapp.fleet.models import Cluster

TIMEOUT_S = 9


@dataclass(frozen=True)
class TestReport:
    """``sees`` and ``misses`` are short sentences; ``sentence`` sums them up."""

    __test__ = False

    reachable: bool
    sentence: str
    sees: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()


def tried_connection(cluster: Cluster) -> TestReport:
    """Ask a cluster, saved or not; stores nothing."""
    try:
        seen = probe(cluster.source(), TIMEOUT_S)
    except IngestError as error:
        return TestReport(False, f"It cannot be asked: {error}")
    if seen.reachable:
        return TestReport(True, "It answers." if not seen.misses else "It answers, but not everything can be seen.", seen.sees, seen.misses)
    return TestReport(False, " ".join(seen.misses) or "Nothing is declared that could be asked.", (), seen.misses)
