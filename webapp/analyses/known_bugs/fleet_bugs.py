"""Known bugs of every job that has not ended: which show, which can hit it, which cannot be told."""

from collections.abc import Iterable
from dataclasses import dataclass

from spark_jobs.diagnosis.known_bugs import KNOWN_BUGS
from spark_jobs.diagnosis.known_bugs.bug import KnownBug
from spark_jobs.diagnosis.known_bugs.releases import is_before
from webapp.findings.known_bugs import READ_FIELDS, RULES, bugs_beside, facts_of
from webapp.findings.models import Finding
from webapp.fleet.models import OVER, JobCurrent
from webapp.lib.chunks import chunks

FINDINGS_AT_ONCE, JOBS_AT_ONCE = 500, 200
Key = tuple[str, str]


@dataclass(frozen=True)
class JobBugs:
    """``shows``: a finding that is open proves it. ``can_hit``: release and configuration fit, and
    nothing was seen. ``unknown``: the release has it, and something of the configuration is not
    known. ``gone``: which of these the release that was asked for has not; ``left``: all that it
    has and that may hit the job then. A job on a later release keeps that.

    ``is_release_known``: that of the job is an Apache release that was looked at.
    """

    cluster: str
    job_id: str
    name: str
    flink_version: str | None
    is_release_known: bool
    shows: frozenset[str]
    can_hit: frozenset[str]
    unknown: frozenset[str]
    gone: frozenset[str]
    left: frozenset[str]

    @property
    def now(self) -> frozenset[str]:
        return self.shows | self.can_hit | self.unknown


@dataclass(frozen=True)
class BugJobs:
    """How many jobs a bug concerns; ``gone``, ``left``: with the release that was asked for."""

    bug: KnownBug
    shows: int
    can_hit: int
    unknown: int
    gone: int
    left: int


def fleet_bugs(target: str | None) -> list[JobBugs]:
    """Jobs with most that shows first. ``target``: the release they would be upgraded to."""
    showing = _showing()
    running = JobCurrent.objects.newest_attempts().exclude(OVER)
    jobs = running.only(*READ_FIELDS, "name", "first_attempt_id").order_by("cluster", "name", "id")
    known = [_bugs_of(job, showing, target) for job in jobs.iterator(JOBS_AT_ONCE)]
    return sorted(known, key=lambda job: (-len(job.shows), -len(job.can_hit)))


def by_bug(jobs: Iterable[JobBugs]) -> list[BugJobs]:
    """Bugs that concern a job, with most jobs that they show in first."""
    jobs = list(jobs)
    counted = [
        BugJobs(
            bug,
            sum(bug.issue in job.shows for job in jobs),
            sum(bug.issue in job.can_hit for job in jobs),
            sum(bug.issue in job.unknown for job in jobs),
            sum(bug.issue in job.gone for job in jobs),
            sum(bug.issue in job.left for job in jobs),
        )
        for bug in KNOWN_BUGS
    ]
    concerned = [one for one in counted if one.shows or one.can_hit or one.unknown or one.left]
    return sorted(concerned, key=lambda one: (-one.shows, -one.can_hit, -one.unknown))


def _bugs_of(job: JobCurrent, showing: dict[Key, set[str]], target: str | None) -> JobBugs:
    facts = facts_of(job)
    affected = {bug.issue: bug.releases.affect(facts.flink_version) for bug in KNOWN_BUGS}
    exposures = {
        bug.issue: bug.exposure(facts) for bug in KNOWN_BUGS if affected[bug.issue] == "yes"
    }
    shows = frozenset(showing.get((job.cluster, job.first_attempt_id or job.job_id), ()))
    can_hit = frozenset(issue for issue, how in exposures.items() if how == "can_hit") - shows
    unknown = frozenset(issue for issue, how in exposures.items() if how == "unknown") - shows
    if target and not is_before(facts.flink_version, target):
        target = facts.flink_version
    ahead = {bug.issue: bug.releases.affect(target) for bug in KNOWN_BUGS} if target else {}
    return JobBugs(
        job.cluster,
        job.job_id,
        job.name or job.job_id,
        facts.flink_version,
        set(affected.values()) != {"unknown"},
        shows,
        can_hit,
        unknown,
        frozenset(issue for issue in shows | can_hit | unknown if ahead.get(issue) == "no"),
        frozenset(
            bug.issue
            for bug in KNOWN_BUGS
            if ahead.get(bug.issue) == "yes"
            and not any(condition.holds(facts) is False for condition in bug.conditions)
        ),
    )


def _showing() -> dict[Key, set[str]]:
    showing: dict[Key, set[str]] = {}
    findings = Finding.objects.open().filter(rule__in=RULES).exclude(job_id="")
    small = findings.only(
        "cluster", "job_id", "first_attempt_id", "rule", "confidence", "first_seen", "last_seen"
    )
    for some in chunks(small.iterator(FINDINGS_AT_ONCE), FINDINGS_AT_ONCE):
        beside = bugs_beside(some)
        for finding in some:
            proved = {one.bug.issue for one in beside.get(finding.pk, ()) if one.shown == "shows"}
            if proved:
                key = (finding.cluster, finding.first_attempt_id)
                showing.setdefault(key, set()).update(proved)
    return showing
