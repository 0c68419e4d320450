"""What the triage of a file comes to, in words."""

from django.utils.translation import gettext

from webapp.cleanup.missing_files.causes import (
    CERTAIN,
    CLEAN_UP,
    LABELS,
    LIKELY,
    POSSIBLE,
    RULED_OUT,
    UNKNOWN,
)
from webapp.cleanup.missing_files.missing_file import Triage
from webapp.lib.badges import Badge
from webapp.lib.quantities import count_text
from webapp.lib.translations import gettext_lazy as _

__all__ = ["LABELS", "VERDICTS", "summary"]

VERDICTS = {
    CERTAIN: Badge(_("certain"), "▲", "crit"),
    LIKELY: Badge(_("likely"), "◆", "warn"),
    POSSIBLE: Badge(_("possible"), "◆", "warn"),
    UNKNOWN: Badge(_("not known"), "?", "unknown"),
    RULED_OUT: Badge(_("ruled out"), "–", "done"),
}


def summary(triage: Triage) -> Badge:
    """One sentence for the head of the page."""
    if triage.present:
        return Badge(
            gettext("The file is there now: the next attempt to restore finds it."), "●", "ok"
        )
    best = triage.cause
    danger = len({(referrer.cluster, referrer.job_id) for referrer in triage.in_danger})
    who = (
        gettext("job that has not ended needs")
        if danger == 1
        else gettext("jobs that have not ended need")
    )
    others = (
        gettext(" %(danger)s %(who)s it at the next restore.")
        % {"danger": count_text(danger), "who": who}
        if danger
        else ""
    )
    if best.key == CLEAN_UP and best.verdict == CERTAIN:
        return Badge(
            gettext("A clean-up plan of Weir took it.%(others)s") % {"others": others}, "▲", "crit"
        )
    if best.verdict == LIKELY:
        return Badge(
            gettext("Likely deleted by: %(key)s.%(others)s")
            % {"key": _inner(LABELS[best.key]), "others": others},
            "▲",
            "crit",
        )
    return Badge(
        gettext("What has deleted it is not known.%(others)s") % {"others": others}, "?", "unknown"
    )


def _inner(label: str) -> str:
    return label if label.startswith("Flink") else label[0].lower() + label[1:]
