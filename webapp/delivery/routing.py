"""Which alerts each endpoint gets: the matchers and the least severity of an endpoint choose among the alerts of a notice."""

from collections.abc import Sequence

from webapp.delivery.notices import Notice
from webapp.findings.choices import SEVERITY_RANK
from webapp.lib.labels import matched_labels
from webapp.lib.matchers import Matcher, match_all

TOLD_AGAIN = "repeat"
_RANK: dict[str, int] = {severity.value: rank for severity, rank in SEVERITY_RANK.items()}


def part_for(notice: Notice, matchers: Sequence[Matcher], min_rank: int) -> Notice | None:
    """The notice as an endpoint with these wishes gets it; ``None`` where nothing in it is new for it."""
    ranked = (alert for alert in notice.alerts if _RANK.get(alert.severity, 0) >= min_rank)
    wanted = tuple(alert for alert in ranked if match_all(matchers, matched_labels(alert)))
    if not wanted:
        return None
    part = notice.of(wanted)
    return part if part.changed or part.kind == TOLD_AGAIN else None
