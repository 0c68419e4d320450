from enum import StrEnum

from webapp.lib.translations import gettext_lazy as _


class FileOutcome(StrEnum):
    QUARANTINED = "quarantined"
    CHANGED = "changed"
    GONE = "gone"
    REFERRED = "referred"
    JUDGED_AGAIN = "judged_again"
    LINKED = "linked"
    FAILED = "failed"
    NOT_REACHED = "not_reached"
    RESTORED = "restored"
    OCCUPIED = "occupied"
    PURGED = "purged"


SENTENCES: dict[str, str] = {
    FileOutcome.QUARANTINED: _("In quarantine; it can be put back until it is purged."),
    FileOutcome.CHANGED: _("Skipped: its size or time is no longer that of the plan."),
    FileOutcome.GONE: _("Skipped: it was not there any more."),
    FileOutcome.REFERRED: _("Skipped: a checkpoint now refers to it."),
    FileOutcome.JUDGED_AGAIN: _(
        "Skipped: the audit before the move no longer confirms that it may be removed."
    ),
    FileOutcome.LINKED: _("Skipped: it is a link or lies behind one, and links are not followed."),
    FileOutcome.FAILED: _("Not done: the storage refused."),
    FileOutcome.NOT_REACHED: _("Not done: the plan was stopped before its turn came."),
    FileOutcome.RESTORED: _("Put back where it was."),
    FileOutcome.OCCUPIED: _("Still in quarantine: another file has taken its place."),
    FileOutcome.PURGED: _("Deleted for good."),
}

WITHHELD: dict[str, str] = {
    "size_or_time_unknown": _("their size or time is not known"),
    "younger_than_the_guard": _("they are younger than the age guard"),
    "outside_its_root": _("they are not at the place where their root is read"),
    "not_a_place_of_checkpoints": _("they are not of Flink's own checkpoint layout"),
    "seen_unreferenced_once": _("only one audit found them unreferenced"),
    "two_files_of_one_name": _("two files have the same canonical name"),
    "more_than_a_plan_holds": _("they are more than one plan holds; the next plan has them"),
}
