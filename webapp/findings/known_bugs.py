from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import QuerySet, Value
from django.db.models.functions import StrIndex

from ingest.messages import Message, list_text, message
from spark_jobs.diagnosis.known_bugs import KNOWN_BUGS
from spark_jobs.diagnosis.known_bugs.bug import FindingFacts, KnownBug, Shown, explaining
from spark_jobs.diagnosis.known_bugs.conditions import JobFacts
from spark_jobs.fold.history import plan_of
from webapp.findings.models import Finding
from webapp.fleet.models import JobCurrent, JobException

RULES = frozenset(rule for bug in KNOWN_BUGS if bug.symptom for rule in bug.symptom.rules)
READ_FIELDS = (
    "cluster",
    "job_id",
    "flink_version",
    "configuration",
    "checkpoint_config",
    "graph",
)
"""Fields that :func:`facts_of` needs."""

_BEFORE = timedelta(minutes=15)
"""An exception may be this much older than the finding, which needs several restarts."""


@dataclass(frozen=True)
class BugBeside:
    """``shown``: the finding proves the bug; else the bug may explain it. ``not_known``: conditions
    of the bug that the job's data does not show.
    """

    bug: KnownBug
    shown: Shown
    flink_version: str
    not_known: tuple[str, ...]

    @property
    def sentence(self) -> Message:
        values = {"version": self.flink_version, "issue": self.bug.issue, "effect": self.bug.effect}
        if self.shown == "shows":
            return message(
                "Flink {version:name} has {issue:name}, and this is how it shows. {effect:message}",
                **values,
            )
        if self.not_known:
            return message(
                "Flink {version:name} has {issue:name}, which may explain this if the job has "
                "{not_known:message}. {effect:message}",
                not_known=list_text(self.not_known, len(self.not_known)),
                **values,
            )
        return message(
            "Flink {version:name} has {issue:name}, which may explain this. {effect:message}",
            **values,
        )


def facts_of(job: JobCurrent) -> JobFacts:
    vertices, edges = plan_of(job.graph)
    return JobFacts(
        job.flink_version,
        job.configuration,
        job.checkpoint_config,
        tuple(vertex.name for vertex in vertices) or None,
        tuple(edge.ship_strategy or "" for edge in edges) if vertices else None,
    )


def bugs_beside(findings: Iterable[Finding]) -> dict[int, tuple[BugBeside, ...]]:
    """Finding key → the bugs that explain it, proved ones first. Large columns of a job are only
    read if its release has such a bug.
    """
    symptoms = [finding for finding in findings if finding.rule in RULES and finding.job_id]
    versions = {
        (cluster, job_id): version
        for cluster, job_id, version in _jobs(symptoms).values_list(
            "cluster", "job_id", "flink_version"
        )
    }
    candidates = {
        finding.pk: (finding, bugs)
        for finding in symptoms
        if (bugs := _bugs_of_release(finding.rule, versions.get((finding.cluster, finding.job_id))))
    }
    jobs = {
        (job.cluster, job.job_id): facts_of(job)
        for job in _jobs([finding for finding, _bugs in candidates.values()]).only(*READ_FIELDS)
    }
    exceptions = _exceptions(candidates)
    bugs_by_finding = {
        pk: _beside(finding, bugs, jobs[finding.cluster, finding.job_id], exceptions.get(pk, ()))
        for pk, (finding, bugs) in candidates.items()
        if (finding.cluster, finding.job_id) in jobs
    }
    return {pk: bugs for pk, bugs in bugs_by_finding.items() if bugs}


def _jobs(findings: Sequence[Finding]) -> QuerySet[JobCurrent]:
    if not findings:
        return JobCurrent.objects.none()
    return JobCurrent.objects.filter(
        cluster__in={finding.cluster for finding in findings},
        job_id__in={finding.job_id for finding in findings},
    )


def _bugs_of_release(rule: str, flink_version: str | None) -> list[KnownBug]:
    return [
        bug
        for bug in KNOWN_BUGS
        if bug.symptom and rule in bug.symptom.rules and bug.releases.affect(flink_version) == "yes"
    ]


def _beside(
    finding: Finding, bugs: Sequence[KnownBug], facts: JobFacts, exceptions: Iterable[str]
) -> tuple[BugBeside, ...]:
    finding_facts = FindingFacts(finding.rule, finding.confidence, tuple(exceptions))
    return tuple(
        BugBeside(bug, shown, str(facts.flink_version), tuple(bug.not_known(facts)))
        for bug, shown in explaining(bugs, facts, finding_facts)
    )


def _exceptions(
    candidates: Mapping[int, tuple[Finding, Sequence[KnownBug]]],
) -> Mapping[int, set[str]]:
    """Finding key → those texts of its bugs that a stack trace of its job contains."""
    texts_by_finding: dict[int, set[str]] = defaultdict(set)
    findings_by_text: dict[str, list[Finding]] = defaultdict(list)
    for finding, bugs in candidates.values():
        for text in {bug.symptom.exception for bug in bugs if bug.symptom} - {""}:
            findings_by_text[text].append(finding)
    for text, findings in findings_by_text.items():
        by_job: dict[tuple[str, str], list[Finding]] = defaultdict(list)
        for finding in findings:
            by_job[finding.cluster, finding.job_id].append(finding)
        # ``contains`` ignores case on SQLite.
        failures = JobException.objects.alias(at=StrIndex("stacktrace", Value(text))).filter(
            cluster__in={cluster for cluster, _job_id in by_job},
            job_id__in={job_id for _cluster, job_id in by_job},
            ts__gte=min(finding.first_seen for finding in findings) - _BEFORE,
            ts__lte=max(finding.last_seen for finding in findings),
            at__gt=0,
        )
        for cluster, job_id, ts in failures.values_list("cluster", "job_id", "ts").iterator():
            for finding in by_job.get((cluster, job_id), ()):
                if finding.first_seen - _BEFORE <= ts <= finding.last_seen:
                    texts_by_finding[finding.pk].add(text)
    return texts_by_finding
