from dataclasses import dataclass

from django.utils.translation import gettext

from ingest.connection_test import probe
from ingest.errors import IngestError
from webapp.fleet.models import Cluster
from webapp.lib.messages.rendering import localised

TIMEOUT_S = 9


@dataclass(frozen=True)
class TestReport:
    __test__ = False

    reachable: bool
    sentence: str
    sees: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()


def check_connection(cluster: Cluster) -> TestReport:
    try:
        result = probe(cluster.source(), TIMEOUT_S)
    except IngestError as error:
        return TestReport(
            False, gettext("It cannot be asked: %(error)s") % {"error": localised(str(error))}
        )
    if result.reachable:
        return TestReport(
            True,
            gettext("It answers.")
            if not result.misses
            else gettext("It answers, but some data is missing."),
            tuple(result.sees),
            tuple(result.misses),
        )
    return TestReport(
        False,
        " ".join(map(localised, result.misses)) or gettext("No source is declared."),
        (),
        tuple(result.misses),
    )
