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
    misses = tuple(result.misses)
    if not result.reachable:
        sentence = " ".join(map(localised, misses)) or gettext("No source is declared.")
    elif misses:
        sentence = gettext("It answers, but some data is missing.")
    else:
        sentence = gettext("It answers.")
    return TestReport(result.reachable, sentence, tuple(result.sees), misses)
