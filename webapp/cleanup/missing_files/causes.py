"""What has deleted a file: each way by which files of checkpoints go, held against what is known."""

from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext

from webapp.cleanup.missing_files.removals import Removals
from webapp.lib.instants import minute_text
from webapp.lib.quantities import count_text, duration_text
from webapp.lib.translations import gettext_lazy as _

CERTAIN = "certain"
LIKELY = "likely"
POSSIBLE = "possible"
RULED_OUT = "ruled_out"
UNKNOWN = "unknown"
RANK = (CERTAIN, LIKELY, POSSIBLE, UNKNOWN, RULED_OUT)
CLEAN_UP = "clean_up"
AGE_RULE = "age_rule"
DIRECTORY = "directory_removed"
FLINK_END = "flink_end_of_job"
FLINK_CLAIM = "flink_claim"
FLINK_RUNNING = "flink_owner_runs"
LABELS = {
    CLEAN_UP: _("A clean-up plan of Weir"),
    AGE_RULE: _("A rule that deletes by age"),
    DIRECTORY: _("Somebody removed the directory of the job"),
    FLINK_END: _("Flink, when the job that owned it ended"),
    FLINK_CLAIM: _("Flink, for another job that claimed the checkpoint"),
    FLINK_RUNNING: _("Flink, for the job that owned it and runs"),
}
LEAST_GONE = 2
"""One file alone shows no order by age."""


@dataclass(frozen=True)
class Cause:
    key: str
    verdict: str
    because: str


@dataclass(frozen=True)
class Circumstances:
    """``moved``: what the journal of a plan says of the file, "" for nothing; ``owner_ended`` None
    where its job is not known.

    ``retained``: whether its checkpoints outlive a cancelled job. ``foreign``: a snapshot of
    another job refers to the file; ``own``: one of its own. ``claimers``: other jobs that were
    restored from the owner's snapshots; ``superseded``: each referrer has a later checkpoint that
    is whole. ``compared``: None where two audits with lists of files are not there. ``unread``:
    journals of plans that cannot be read.
    """

    moved: str
    owner: str | None
    owner_ended: bool | None
    owner_state: str | None
    owner_end: datetime | None
    retained: bool | None
    foreign: bool
    own: bool
    claimers: tuple[str, ...]
    superseded: bool
    seen_at: datetime | None
    compared: Removals | None
    unread: int = 0


def causes(known: Circumstances) -> tuple[Cause, ...]:
    """Best founded first."""
    candidates = [
        _clean_up(known),
        _age(known),
        _directory(known),
        _end(known),
        _claim(known),
        _running(known),
    ]
    return tuple(sorted(candidates, key=lambda cause: RANK.index(cause.verdict)))


def _clean_up(known: Circumstances) -> Cause:
    if known.moved:
        return Cause(CLEAN_UP, CERTAIN, known.moved)
    if known.unread:
        return Cause(
            CLEAN_UP,
            UNKNOWN,
            gettext("%(unread)s journals of plans cannot be read; no other names it.")
            % {"unread": count_text(known.unread)},
        )
    return Cause(CLEAN_UP, RULED_OUT, gettext("No journal of a plan names it."))


def _age(known: Circumstances) -> Cause:
    seen = known.compared
    if seen is None or not seen.gone:
        return Cause(AGE_RULE, UNKNOWN, _not_compared(known))
    went = gettext("%(gone)s of %(files)s files of ended jobs went between the two audits") % {
        "gone": count_text(seen.gone),
        "files": count_text(seen.files),
    }
    span = gettext("%(least_age)s to %(most_age)s") % {
        "least_age": _days(seen.least_age),
        "most_age": _days(seen.most_age),
    }
    if seen.whole_directories and seen.gone_directories >= LEAST_GONE and seen.gone < seen.files:
        return Cause(
            AGE_RULE,
            LIKELY,
            gettext(
                "%(went)s, in whole directories: the %(gone_directories)s that were idle longest. "
                "That is what a rule by the age of directories does."
            )
            % {"went": went, "gone_directories": count_text(seen.gone_directories)},
        )
    if seen.gone == seen.files:
        return Cause(
            AGE_RULE,
            POSSIBLE,
            gettext("%(went)s: none is left to compare their age with.") % {"went": went},
        )
    if seen.out_of_order:
        return Cause(
            AGE_RULE,
            RULED_OUT,
            gettext(
                "%(went)s, but %(out_of_order)s files that are as old or older are still there."
            )
            % {"went": went, "out_of_order": count_text(seen.out_of_order)},
        )
    if seen.gone < LEAST_GONE or (seen.whole_own_directory and seen.gone_directories == 1):
        return Cause(
            AGE_RULE,
            POSSIBLE,
            gettext("%(went)s, and all that are left are younger; so few show no order by age.")
            % {"went": went},
        )
    return Cause(
        AGE_RULE,
        LIKELY,
        gettext("%(went)s: exactly the oldest. A rule “older than N” fits with N from %(span)s.")
        % {"went": went, "span": span},
    )


def _directory(known: Circumstances) -> Cause:
    seen = known.compared
    if seen is None or not seen.own_files:
        return Cause(DIRECTORY, UNKNOWN, _not_compared(known))
    if not seen.whole_own_directory:
        left = seen.own_files - seen.own_gone
        return Cause(
            DIRECTORY,
            RULED_OUT,
            gettext("%(left)s of %(own_files)s files of that directory are still there.")
            % {"left": count_text(left), "own_files": count_text(seen.own_files)},
        )
    if seen.gone_directories == 1 and seen.directories > 1:
        return Cause(
            DIRECTORY,
            LIKELY,
            gettext(
                "All %(own_files)s files of that directory went, and none of the others of ended "
                "jobs."
            )
            % {"own_files": count_text(seen.own_files)},
        )
    return Cause(
        DIRECTORY,
        POSSIBLE,
        gettext("All %(own_files)s files of that directory went together.")
        % {"own_files": count_text(seen.own_files)},
    )


def _end(known: Circumstances) -> Cause:
    if known.owner_ended is None:
        return Cause(
            FLINK_END,
            UNKNOWN,
            gettext("No cluster has reported the job whose directory it was in."),
        )
    if not known.owner_ended:
        return Cause(FLINK_END, RULED_OUT, gettext("That job has not ended."))
    if known.owner_end and known.seen_at and known.owner_end < known.seen_at:
        return Cause(
            FLINK_END,
            RULED_OUT,
            gettext("It ended at %(owner_end)s, and an audit listed the file after that.")
            % {"owner_end": minute_text(known.owner_end)},
        )
    if known.retained is None:
        return Cause(
            FLINK_END, UNKNOWN, gettext("Whether that job retained its checkpoints is not known.")
        )
    if known.owner_state == "FAILED" or known.retained:
        kept = (
            gettext("its checkpoints are retained when it is cancelled")
            if known.retained
            else gettext("a job that fails keeps its checkpoints")
        )
        return Cause(
            FLINK_END,
            RULED_OUT,
            gettext("It ended as %(owner_state)s, and %(kept)s.")
            % {"owner_state": known.owner_state, "kept": kept},
        )
    return Cause(
        FLINK_END,
        LIKELY,
        gettext(
            "It ended as %(owner_state)s under DELETE_ON_CANCELLATION: Flink then discards its "
            "checkpoints with all their files, also those that other jobs refer to."
        )
        % {"owner_state": known.owner_state},
    )


def _claim(known: Circumstances) -> Cause:
    if known.superseded:
        return Cause(
            FLINK_CLAIM,
            LIKELY,
            gettext(
                "Later checkpoints of the chain are whole: after a CLAIM, Flink discards what "
                "newer checkpoints no longer need."
            ),
        )
    if not known.claimers:
        return Cause(
            FLINK_CLAIM,
            RULED_OUT,
            gettext("No other job is known to have been restored from snapshots of that job."),
        )
    several = (
        gettext("%(claimers)s other jobs were") % {"claimers": count_text(len(known.claimers))}
        if len(known.claimers) > 1
        else gettext("Job %(claimers)s was") % {"claimers": known.claimers[0]}
    )
    return Cause(
        FLINK_CLAIM,
        POSSIBLE,
        gettext(
            "%(several)s restored from snapshots of that job; in CLAIM mode Flink may delete their "
            "files."
        )
        % {"several": several},
    )


def _running(known: Circumstances) -> Cause:
    if known.owner_ended is None:
        return Cause(
            FLINK_RUNNING,
            UNKNOWN,
            gettext("No cluster has reported the job whose directory it was in."),
        )
    if known.owner_ended and not (
        known.owner_end and known.seen_at and known.owner_end > known.seen_at
    ):
        return Cause(FLINK_RUNNING, RULED_OUT, gettext("That job has ended."))
    if not known.foreign:
        return Cause(
            FLINK_RUNNING,
            RULED_OUT,
            gettext("Only its own snapshots refer to the file, and Flink keeps what those need."),
        )
    return Cause(
        FLINK_RUNNING,
        POSSIBLE,
        gettext(
            "That job continued to run after another was restored from it; its Flink does not "
            "know of the other's checkpoints."
        ),
    )


def _not_compared(known: Circumstances) -> str:
    if known.owner_ended is False:
        return gettext(
            "That job has not ended: Flink deletes files there itself, so their age shows nothing."
        )
    if known.seen_at is None:
        return gettext("No audit with a stored list of files has listed it.")
    return gettext(
        "There are no two audits, with lists of files, of which the first listed the file and the "
        "second did not."
    )


def _days(age: object) -> str:
    seconds = getattr(age, "total_seconds", lambda: None)()
    return "unknown" if seconds is None else duration_text(seconds * 1000)
