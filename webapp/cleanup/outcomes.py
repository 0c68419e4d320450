"""What became of one file of a plan: one word in the journal, one sentence on the page."""

from enum import StrEnum


class FileOutcome(StrEnum):
    QUARANTINED = "quarantined"
    CHANGED = "changed"
    GONE = "gone"
    REFERRED = "referred"
    JUDGED_ANEW = "judged_anew"
    LINKED = "linked"
    FAILED = "failed"
    NOT_REACHED = "not_reached"
    RESTORED = "restored"
    OCCUPIED = "occupied"
    PURGED = "purged"


SENTENCES: dict[str, str] = {
    FileOutcome.QUARANTINED: "Moved to the quarantine; it can be put back until it is purged.",
    FileOutcome.CHANGED: "Skipped: its size or time is no longer that of the plan.",
    FileOutcome.GONE: "Skipped: it was not there any more.",
    FileOutcome.REFERRED: "Skipped: a checkpoint refers to it by now.",
    FileOutcome.JUDGED_ANEW: "Skipped: the audit right before no longer finds that it may go.",
    FileOutcome.LINKED: "Skipped: it is a link or lies behind one, and links are not followed.",
    FileOutcome.FAILED: "Not done: the storage refused.",
    FileOutcome.NOT_REACHED: "Not done: the plan was stopped before its turn came.",
    FileOutcome.RESTORED: "Put back where it was.",
    FileOutcome.OCCUPIED: "Still in quarantine: another file has taken its place.",
    FileOutcome.PURGED: "Deleted for good.",
}

SKIPPED = frozenset(
    {FileOutcome.CHANGED, FileOutcome.GONE, FileOutcome.REFERRED, FileOutcome.JUDGED_ANEW, FileOutcome.LINKED, FileOutcome.NOT_REACHED}
)

WITHHELD: dict[str, str] = {
    "size_or_time_unknown": "their size or time is not known",
    "younger_than_the_guard": "they are younger than the age guard",
    "outside_its_root": "they do not lie where their root is read",
    "not_a_place_of_checkpoints": "they are not of Flink's own checkpoint layout",
    "seen_unreferenced_once": "only one audit found them unreferenced",
    "two_files_of_one_name": "two files come to the same canonical name",
    "more_than_a_plan_holds": "they are more than one plan holds; the next plan has them",
}
"""Why files that the audit would let go are not in a plan."""
