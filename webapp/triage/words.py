"""What the triage of a file comes to, in words."""

from webapp.lib.badges import Badge
from webapp.lib.quantities import count_text
from webapp.triage.causes import CERTAIN, CLEAN_UP, LABELS, LIKELY, POSSIBLE, RULED_OUT, UNKNOWN
from webapp.triage.missing_file import Triage

__all__ = ["LABELS", "VERDICTS", "summary"]

VERDICTS = {
    CERTAIN: Badge("certain", "▲", "crit"),
    LIKELY: Badge("likely", "◆", "warn"),
    POSSIBLE: Badge("possible", "◆", "warn"),
    UNKNOWN: Badge("not known", "?", "unknown"),
    RULED_OUT: Badge("ruled out", "–", "done"),
}


def summary(found: Triage) -> Badge:
    """One sentence for the head of the page."""
    if found.present:
        return Badge("The file is there now: the next attempt to restore finds it.", "●", "ok")
    best = found.cause
    danger = len({(one.cluster, one.job_id) for one in found.in_danger})
    who = "job that has not ended needs" if danger == 1 else "jobs that have not ended need"
    others = f" {count_text(danger)} {who} it at the next restore." if danger else ""
    if best.key == CLEAN_UP and best.verdict == CERTAIN:
        return Badge(f"A clean-up plan of Weir took it.{others}", "▲", "crit")
    if best.verdict == LIKELY:
        return Badge(f"Likely deleted by: {_inner(LABELS[best.key])}.{others}", "▲", "crit")
    return Badge(f"What has deleted it is not known.{others}", "?", "unknown")


def _inner(label: str) -> str:
    return label if label.startswith("Flink") else label[0].lower() + label[1:]
