"""Known bugs of Flink that can hit the jobs, and which of them another release fixes."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext

from ingest.messages import list_text, message, plural
from spark_jobs.diagnosis.known_bugs import KNOWN_BUGS
from spark_jobs.diagnosis.known_bugs.bug import KnownBug
from spark_jobs.diagnosis.known_bugs.releases import is_before
from spark_jobs.diagnosis.known_bugs.sources import READ_ON
from webapp.analyses.declaration import analysis
from webapp.analyses.document import (
    Block,
    Column,
    Document,
    Fact,
    Facts,
    Inputs,
    Link,
    Note,
    NotKnown,
    Table,
    Verdict,
)
from webapp.analyses.links import job_link
from webapp.findings.known_bugs import READ_FIELDS, RULES, bugs_beside, facts_of
from webapp.findings.models import Finding, FindingQuerySet
from webapp.fleet.models import OVER, JobCurrent
from webapp.lib.chunks import chunks
from webapp.lib.filter_sets import ListFilters
from webapp.lib.query_parameters import Text
from webapp.lib.translations import gettext_lazy as _

FINDINGS_AT_ONCE, JOBS_AT_ONCE = 500, 200
Key = tuple[str, str]


@dataclass(frozen=True)
class JobBugs:
    """Keys of bugs. ``shows``: an open finding proves the bug. ``can_hit``: release and
    configuration match. ``unknown``: the release has the bug, part of the configuration is unknown.
    ``gone``: bugs that the target release fixes; ``left``: bugs that may hit the job on the target
    release, or on its own if that is later. ``is_release_known``: the job is on a known Apache
    release.
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
    """Numbers of jobs that a bug concerns; ``gone`` and ``left`` with the target release."""

    bug: KnownBug
    shows: int
    can_hit: int
    unknown: int
    gone: int
    left: int


def fleet_bugs(target: str | None) -> list[JobBugs]:
    """Jobs, most bugs that show first. ``target``: the release to upgrade to."""
    showing = _proved_bugs(Finding.objects.all())
    running = JobCurrent.objects.newest_attempts().exclude(OVER)
    jobs = running.only(*READ_FIELDS, "name", "first_attempt_id").order_by("cluster", "name", "id")
    fleet = [_bugs_of(job, showing, target) for job in jobs.iterator(JOBS_AT_ONCE)]
    return sorted(fleet, key=lambda job: (-len(job.shows), -len(job.can_hit)))


def bugs_of_job(job: JobCurrent) -> JobBugs:
    first_attempt = job.first_attempt_id or job.job_id
    findings = Finding.objects.filter(cluster=job.cluster, first_attempt_id=first_attempt)
    return _bugs_of(job, _proved_bugs(findings), None)


_COUNTS = ("shows", "can_hit", "unknown", "gone", "left")


def by_bug(jobs: Iterable[JobBugs]) -> list[BugJobs]:
    """Bugs that concern a job, those that show in most jobs first."""
    jobs = list(jobs)
    bug_jobs = [
        BugJobs(bug, *(sum(bug.issue in getattr(job, name) for job in jobs) for name in _COUNTS))
        for bug in KNOWN_BUGS
    ]
    concerned = [bug for bug in bug_jobs if bug.shows or bug.can_hit or bug.unknown or bug.left]
    return sorted(concerned, key=lambda bug: (-bug.shows, -bug.can_hit, -bug.unknown))


def _bugs_of(job: JobCurrent, showing: dict[Key, set[str]], target: str | None) -> JobBugs:
    facts = facts_of(job)
    affected = {bug.issue: bug.releases.affect(facts.flink_version) for bug in KNOWN_BUGS}
    exposures = {
        bug.issue: bug.exposure(facts) for bug in KNOWN_BUGS if affected[bug.issue] == "yes"
    }
    shows = frozenset(showing.get((job.cluster, job.first_attempt_id or job.job_id), ()))
    can_hit, unknown = (
        frozenset(issue for issue in exposures if exposures[issue] == exposure) - shows
        for exposure in ("can_hit", "unknown")
    )
    if target and not is_before(facts.flink_version, target):
        target = facts.flink_version
    in_target = {bug.issue: bug.releases.affect(target) for bug in KNOWN_BUGS} if target else {}
    return JobBugs(
        job.cluster,
        job.job_id,
        job.name or job.job_id,
        facts.flink_version,
        set(affected.values()) != {"unknown"},
        shows,
        can_hit,
        unknown,
        frozenset(issue for issue in shows | can_hit | unknown if in_target.get(issue) == "no"),
        frozenset(
            bug.issue
            for bug in KNOWN_BUGS
            if in_target.get(bug.issue) == "yes"
            and not any(condition.holds(facts) is False for condition in bug.conditions)
        ),
    )


def _proved_bugs(rows: FindingQuerySet) -> dict[Key, set[str]]:
    showing: dict[Key, set[str]] = {}
    findings = rows.open().filter(rule__in=RULES).exclude(job_id="")
    rows_read = findings.only(
        "cluster", "job_id", "first_attempt_id", "rule", "confidence", "first_seen", "last_seen"
    )
    for batch in chunks(rows_read.iterator(FINDINGS_AT_ONCE), FINDINGS_AT_ONCE):
        exposures = bugs_beside(batch)
        for finding in batch:
            proved = {
                exposure.bug.issue
                for exposure in exposures.get(finding.pk, ())
                if exposure.shown == "shows"
            }
            if proved:
                key = (finding.cluster, finding.first_attempt_id)
                showing.setdefault(key, set()).update(proved)
    return showing


MOST_JOBS = 1_000
SHOWS = message("Shows")
CAN_HIT = message("Can hit")
CANNOT_TELL = message("Not known")


class FlinkRelease(Text):
    schema = {"type": "string", "pattern": r"^[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{1,2}$"}

    def read(self, text: str) -> str:
        if not re.fullmatch(self.schema["pattern"], text):
            raise ValueError(gettext("Give a release of Flink, such as 1.20.5."))
        return text


class KnownBugsFilters(ListFilters):
    release = FlinkRelease(about=_("after an upgrade to this release of Flink"))


@analysis(
    "known-bugs",
    subject="fleet",
    title="Known bugs",
    summary=(
        "known bugs of Flink that show in jobs or can hit them, and which of them another release "
        "takes away"
    ),
    parameters=KnownBugsFilters,
    is_slow=True,
)
def known_bugs(inputs: Inputs) -> Document:
    target = inputs.parameters.values.get("release")
    jobs = fleet_bugs(target)
    if not jobs:
        return Document(Verdict("unknown", "No job is running."))
    bugs = by_bug(jobs)
    blocks: list[Block] = [_facts(jobs, target)]
    if releases := sorted({job.flink_version or "–" for job in jobs if not job.is_release_known}):
        blocks.append(
            NotKnown(
                message(
                    "Nothing is known of jobs on {versions:message}: these are not releases of "
                    "Apache Flink that were looked at. A vendor's release may have what the one it "
                    "is named after has not.",
                    versions=list_text(releases, 10),
                )
            )
        )
    blocks += [_bugs(bugs, target), _jobs(jobs, target), _note()]
    return Document(_verdict(jobs, bugs), tuple(blocks))


def _verdict(jobs: Sequence[JobBugs], bugs: Sequence[BugJobs]) -> Verdict:
    showing = sum(bug.shows > 0 for bug in bugs)
    threatening = sum(bug.can_hit > 0 for bug in bugs)
    threat = message("{bugs:count} can hit a job without having shown.", bugs=threatening)
    if showing:
        return Verdict(
            "warn",
            plural(
                showing,
                "{bugs:count} known bug shows. {others:message}",
                "{bugs:count} known bugs show. {others:message}",
                bugs=showing,
                others=threat,
            ),
        )
    if threatening:
        return Verdict("warn", message("No known bug shows. {others:message}", others=threat))
    if any(job.unknown or not job.is_release_known for job in jobs):
        return Verdict(
            "unknown",
            "No known bug shows. Whether one can hit a job is not known of all jobs.",
        )
    return Verdict("ok", "No known bug shows, and none can hit a job.")


def _facts(jobs: Sequence[JobBugs], target: str | None) -> Facts:
    showing = sum(bool(job.shows) for job in jobs)
    threatened = sum(bool(job.can_hit) for job in jobs)
    facts = [
        Fact("jobs", "Jobs", len(jobs), "count"),
        Fact("showing", "A bug shows", showing, "count"),
        Fact("threatened", "A bug can hit them", threatened, "count"),
    ]
    if target:
        free = message("No known bug with {release:name}", release=target)
        facts.append(Fact("free", free, sum(not job.left for job in jobs), "count"))
    return Facts(tuple(facts))


def _bugs(bugs: Sequence[BugJobs], target: str | None) -> Table:
    changes = _changes(target)
    return Table.of(
        bugs,
        "bugs",
        "Bugs",
        (
            Column(
                "issue",
                "Bug",
                value=lambda bug_jobs: Link(bug_jobs.bug.issue, bug_jobs.bug.address),
            ),
            Column("effect", "What happens", value="bug.effect"),
            Column("shows", SHOWS, "count", "jobs with an open finding that proves it"),
            Column("can_hit", CAN_HIT, "count", "jobs with such a release and configuration"),
            Column(
                "unknown",
                CANNOT_TELL,
                "count",
                "jobs with such a release; their configuration is not known in full",
            ),
            *(Column(key, name, "count") for key, name in changes.items()),
            Column("needs", "Only with", value="bug.needs"),
            Column("releases", "Releases", value="bug.releases.text"),
            Column("way_out", "Way out", value="bug.way_out"),
        ),
        subtitle="those that show first",
        empty="No known bug concerns a job.",
    )


def _changes(target: str | None) -> dict[str, str]:
    if not target:
        return {}
    return {
        "gone": message("Gone with {release:name}", release=target),
        "left": message("Left with {release:name}", release=target),
    }


def _jobs(jobs: Sequence[JobBugs], target: str | None) -> Table:
    return Table.of(
        [job for job in jobs if job.now or job.left],
        "jobs",
        "Jobs",
        (
            Column("job", "Job", value=lambda job: job_link(job.cluster, job.job_id, job.name)),
            Column("cluster", "Cluster"),
            Column("version", "Flink", "mono", value="flink_version"),
            _issues("shows", SHOWS),
            _issues("can_hit", CAN_HIT),
            Column("unknown", CANNOT_TELL, "count", value=lambda job: len(job.unknown)),
            *(_issues(key, name) for key, name in _changes(target).items()),
        ),
        most=MOST_JOBS,
        subtitle="those in which most show first",
        empty="No known bug concerns a job.",
    )


def _issues(key: str, name: str) -> Column:
    return Column(key, name, value=lambda job: ", ".join(sorted(getattr(job, key))))


def _note() -> Note:
    return Note(
        message(
            "As of the notes of releases, pull requests and source code read on {day:name}. Jobs "
            "are counted as they are configured by their cluster and as Flink reports their "
            "checkpoint settings; what a job sets in its code alone is not known.",
            day=READ_ON.isoformat(),
        )
    )
