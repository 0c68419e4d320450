from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext

from webapp.lib.badges import Badge
from webapp.lib.quantities import count_text, duration_text
from webapp.lib.translations import gettext_lazy as _

CERTAIN, LIKELY, POSSIBLE = "certain", "likely", "possible"
VERDICTS = {
    CERTAIN: Badge("certain", "▲", "crit"),
    LIKELY: Badge("likely", "◆", "warn"),
    POSSIBLE: Badge("possible", "◆", "warn"),
}
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
class Removals:
    """Files of ended jobs that disappeared between two audits; Flink deletes nothing of these jobs
    any more. ``own_*``: files of the job whose file is missing.
    """

    files: int
    gone: int
    jobs: int
    lost_jobs: int
    own_files: int
    own_gone: int
    out_of_order: int
    """Remaining files that are as old as the newest gone file, or older."""
    idle_went: bool
    """Each job with gone files lost all its files, and was idle for longer than all other jobs."""
    least_age: timedelta | None
    """A rule that deleted the newest gone file and kept the oldest remaining file deletes files
    that are older than at least this …
    """
    most_age: timedelta | None
    """… and at most this."""

    @classmethod
    def between(
        cls,
        before: Iterable[Mapping[str, Any]],
        left: set[str],
        own_job: str,
        first: datetime,
        second: datetime,
    ) -> "Removals":
        """``before``: files of the first audit; ``left``: paths that the second audit still listed."""
        rows = [row for row in before if row["modified"] is not None]
        gone = [row for row in rows if row["path"] not in left]
        kept = [row for row in rows if row["path"] in left]
        idle_since: dict[str, datetime] = {}
        for row in rows:
            last = idle_since.get(row["job_id"], row["modified"])
            idle_since[row["job_id"]] = max(row["modified"], last)
        lost_jobs, kept_jobs = ({row["job_id"] for row in files} for files in (gone, kept))
        newest_gone = max((row["modified"] for row in gone), default=None)
        oldest_kept = min((row["modified"] for row in kept), default=None)
        last_of_lost = max((idle_since[job] for job in lost_jobs), default=None)
        return cls(
            files=len(rows),
            gone=len(gone),
            jobs=len(idle_since),
            lost_jobs=len(lost_jobs),
            own_files=sum(row["job_id"] == own_job for row in rows),
            own_gone=sum(row["job_id"] == own_job for row in gone),
            out_of_order=sum(row["modified"] <= newest_gone for row in kept) if newest_gone else 0,
            idle_went=last_of_lost is not None
            and not lost_jobs & kept_jobs
            and all(idle_since[job] > last_of_lost for job in kept_jobs),
            least_age=max(first - oldest_kept, timedelta(0)) if oldest_kept else None,
            most_age=second - newest_gone if newest_gone else None,
        )

    @property
    def own_went(self) -> bool:
        return self.own_gone == self.own_files > 0


@dataclass(frozen=True)
class Cause:
    key: str
    verdict: str
    because: str


@dataclass(frozen=True)
class Circumstances:
    """``moved``: a sentence if a plan moved the file, else "". ``owner``: the job that wrote it;
    ``owner_ended``: None if it is unknown. ``retained``: checkpoints are retained on cancellation.
    ``foreign``: a snapshot of another job refers to the file. ``claimers``: ids of other jobs
    restored from the owner's snapshots. ``superseded``: the job of each referrer has a later
    complete checkpoint. ``compared``: None without lists of two audits.
    """

    moved: str
    owner_ended: bool | None
    owner_state: str | None
    owner_end: datetime | None
    retained: bool | None
    foreign: bool
    claimers: tuple[str, ...]
    superseded: bool
    seen_at: datetime | None
    compared: Removals | None


def causes(facts: Circumstances) -> tuple[Cause, ...]:
    ranks = list(VERDICTS)
    return tuple(sorted(_causes(facts), key=lambda cause: ranks.index(cause.verdict)))


def _causes(facts: Circumstances) -> Iterator[Cause]:
    if facts.moved:
        yield Cause(CLEAN_UP, CERTAIN, facts.moved)
    if facts.compared is not None:
        yield from _causes_of_removals(facts.compared)
    was_seen_after_end = facts.owner_end and facts.seen_at and facts.owner_end < facts.seen_at
    discards = facts.owner_ended and facts.retained is False and facts.owner_state != "FAILED"
    if discards and not was_seen_after_end:
        because = gettext(
            "It ended as %(owner_state)s under DELETE_ON_CANCELLATION: Flink then discards its "
            "checkpoints with all their files, also those that other jobs refer to."
        )
        yield Cause(FLINK_END, LIKELY, because % {"owner_state": facts.owner_state})
    if facts.superseded:
        because = gettext(
            "Later checkpoints of the chain are whole: after a CLAIM, Flink discards what newer "
            "checkpoints no longer need."
        )
        yield Cause(FLINK_CLAIM, LIKELY, because)
    elif facts.claimers:
        because = gettext(
            "%(jobs)s: restored from snapshots of that job; in CLAIM mode Flink may delete their "
            "files."
        )
        yield Cause(FLINK_CLAIM, POSSIBLE, because % {"jobs": ", ".join(facts.claimers[:3])})
    ended_later = facts.owner_end and facts.seen_at and facts.owner_end > facts.seen_at
    if facts.foreign and (facts.owner_ended is False or (facts.owner_ended and ended_later)):
        because = gettext(
            "That job continued to run after another was restored from it; its Flink does not "
            "know of the other's checkpoints."
        )
        yield Cause(FLINK_RUNNING, POSSIBLE, because)


def _causes_of_removals(removals: Removals) -> Iterator[Cause]:
    went = gettext("%(gone)s of %(files)s files of ended jobs went between the two audits") % {
        "gone": count_text(removals.gone),
        "files": count_text(removals.files),
    }
    if removals.idle_went and removals.lost_jobs >= LEAST_GONE and removals.gone < removals.files:
        because = gettext("%(went)s: whole directories, those that were idle longest.")
        yield Cause(AGE_RULE, LIKELY, because % {"went": went})
    elif removals.gone and not removals.out_of_order:
        shows_order = LEAST_GONE <= removals.gone < removals.files
        if shows_order and not (removals.own_went and removals.lost_jobs == 1):
            because = gettext(
                "%(went)s: exactly the oldest. A rule “older than N” fits with N from %(least)s to "
                "%(most)s."
            ) % {"went": went, "least": _days(removals.least_age), "most": _days(removals.most_age)}
            yield Cause(AGE_RULE, LIKELY, because)
        else:
            because = gettext("%(went)s, which shows no order by age.") % {"went": went}
            yield Cause(AGE_RULE, POSSIBLE, because)
    if removals.own_went:
        because = gettext("All %(own_files)s files of that directory went together.")
        is_alone = removals.lost_jobs == 1 and removals.jobs > 1
        yield Cause(
            DIRECTORY,
            LIKELY if is_alone else POSSIBLE,
            because % {"own_files": count_text(removals.own_files)},
        )


def _days(age: timedelta | None) -> str:
    return "?" if age is None else duration_text(age.total_seconds() * 1000)
