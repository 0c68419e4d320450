"""The tools. Each one reads what a page shows, within the scope of the caller."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.db.models import Exists, OuterRef, Q
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags

from spark_jobs.diagnosis.known_bugs import BY_ISSUE
from spark_jobs.diagnosis.registry import all_rules
from webapp.analyses.fleet.known_bugs import bugs_of_job
from webapp.analyses.inputs import inputs_for_job
from webapp.analyses.presentation import plain
from webapp.analyses.registry import all_analyses
from webapp.checkpoints.models import CheckpointFact
from webapp.findings.job_attempts import STORAGE_RULES
from webapp.findings.known_bugs import bugs_beside
from webapp.findings.models import Finding
from webapp.findings.reasons import reasons
from webapp.findings.runbooks import runbook as sections_of
from webapp.fleet.models import OVER, JobCurrent
from webapp.fleet.sorting import worst_first
from webapp.incidents.models import Incident
from webapp.lib.filter_sets import WrongParameters
from webapp.lib.messages.rendering import localised
from webapp.lib.row_numbers import row_number
from webapp.pressure.models import PressureWindow
from webapp.site.agents.tools import TOOLS, Unanswerable, link, quoted, tool
from webapp.storage.models import JobStorage, MissingFile, RootFigures
from webapp.storage.newest_audits import latest_of
from webapp.storage.newest_audits import of_job as storage_of_job

__all__ = ["TOOLS"]

MOST_JOBS, MOST_CHECKPOINTS, MOST_FINDINGS, MOST_INCIDENTS = 20, 12, 12, 12
MOST_FIGURES = 5
"""How many figures of a finding are in an answer; the tool ``evidence`` gives all."""
JOB_ARGUMENTS = {
    "cluster": "name of the cluster, as in sick_jobs",
    "job": "name or id of the job, as in sick_jobs",
}
CHECKPOINT_MS = ("end_to_end_ms", "start_delay_ms", "alignment_ms", "sync_ms", "async_ms")
STORED_BYTES = (
    "live_bytes",
    "retained_waste_bytes",
    "orphan_bytes",
    "recent_bytes",
    "missing_bytes",
)


def _job(cluster: str, job: str) -> JobCurrent:
    jobs: list[JobCurrent] = JobCurrent.objects.with_status(timezone.now()).called(cluster, job)
    if not jobs:
        raise Unanswerable(
            "There is no such job on such a cluster, or you do not see it. sick_jobs lists jobs."
        )
    if len(jobs) > 1:
        raise Unanswerable("Several jobs have this name: give the id of one.")
    return jobs[0]


def _job_facts(job: JobCurrent) -> dict[str, Any]:
    return {
        "cluster": job.cluster,
        "job": quoted(job.name),
        "job_id": job.job_id,
        "state": job.status,
        "health": job.health,
        "judged_up_to": job.judged_at,
        "page": link(reverse("job", args=(job.cluster, job.job_id))),
    }


def _figures(evidence: Any) -> list[dict[str, Any]]:
    names = ("name", "value", "unit", "threshold", "comparison")
    figures = [
        {name: row[name] for name in names if row.get(name) is not None}
        for row in evidence or ()
        if isinstance(row, Mapping)
    ]
    for figure in figures:
        if isinstance(figure.get("value"), str):  # a text of the job, such as a root exception
            figure["value"] = quoted(figure["value"])
    return figures


def _finding(row: Finding) -> dict[str, Any]:
    return {
        "finding": row.pk,
        "rule": row.rule,
        "severity": row.severity,
        "confidence": row.confidence,
        "state": row.state,
        "title": quoted(localised(row.title)),
        "cause": quoted(localised(row.cause)),
        "next_step": localised(row.next_step),
        "figures": _figures(row.evidence)[:MOST_FIGURES],
        "first_seen": row.first_seen,
        "last_seen": row.last_seen,
        "page": link(reverse("finding", args=(row.pk,))),
    }


def _bugs(rows: Iterable[Finding]) -> dict[int, list[dict[str, str]]]:
    return {
        number: [
            {
                "issue": beside.bug.issue,
                "says": localised(beside.sentence),
                "link": beside.bug.address,
            }
            for beside in bugs
        ]
        for number, bugs in bugs_beside(rows).items()
    }


@tool(
    "sick_jobs",
    "Which jobs are in trouble",
    "Jobs that run, the worst first, each with its worst open finding; and open findings of jobs "
    "that ended, and of clusters and storage. Start here.",
    {
        "cluster": "only of this cluster",
    },
)
def sick_jobs(cluster: str = "") -> dict[str, Any]:
    rows = JobCurrent.objects.with_status(timezone.now()).newest_attempts().exclude(OVER)
    if cluster:
        rows = rows.filter(cluster=cluster)
    in_trouble = rows.filter(Q(health__lt=100) | Q(health=None))
    worst = list(in_trouble.order_by(worst_first(), "id")[:MOST_JOBS])
    reason_by_job = reasons(worst)
    findings = Finding.objects.in_bulk([reason.pk for reason in reason_by_job.values()])
    beside = rows.filter(cluster=OuterRef("cluster"))
    of_attempt = Exists(beside.filter(job_id=OuterRef("job_id")))
    of_job = Exists(beside.filter(first_attempt_id=OuterRef("first_attempt_id")))
    # Findings of storage belong to one attempt, others to the job.
    others = Finding.objects.open().exclude(of_attempt)
    others = others.exclude(of_job, ~Q(rule__startswith=STORAGE_RULES), first_attempt_id__gt="")
    if cluster:
        others = others.filter(cluster=cluster)
    return {
        "jobs_that_run": rows.count(),
        "in_trouble_or_unknown": in_trouble.count(),
        "jobs": [
            {
                **_job_facts(job),
                "worst_finding": _finding(findings[reason.pk])
                if (reason := reason_by_job.get((job.cluster, job.job_id)))
                else None,
            }
            for job in worst
        ],
        "other_findings": [
            {
                "cluster": row.cluster,
                "job": quoted(row.job_name),
                "job_id": row.job_id,
                **_finding(row),
            }
            for row in others.worst_first()[:MOST_FINDINGS]
        ],
        "note": "health is 0 to 100; null is unknown, which is not healthy",
    }


@tool(
    "why",
    "Why a job is sick",
    "Its open findings, causes first, with figures, next steps, known bugs of Flink that explain "
    "them, and its incident.",
    JOB_ARGUMENTS,
)
def why(cluster: str, job: str) -> dict[str, Any]:
    job_row = _job(cluster, job)
    rows = list(Finding.objects.of_job(job_row.cluster, job_row.job_id).open().worst_first())
    listed = rows[:MOST_FINDINGS]
    bugs = _bugs(listed)
    incident = (
        Incident.objects.filter(members__finding__in=[row.pk for row in listed])
        .order_by("-severity_rank", "-id")
        .first()
    )
    return {
        **_job_facts(job_row),
        "findings": [{**_finding(row), "known_bugs": bugs.get(row.pk, [])} for row in listed],
        "open_findings": len(rows),
        "incident": _incident(incident) if incident else None,
        "unknown": None if job_row.judged_at else "this job was not judged yet",
    }


@tool(
    "evidence",
    "What a finding rests on",
    "Every figure of a finding with its unit and threshold, which subtasks and hosts it names, and "
    "what else it concerns.",
    {
        "finding": "its number",
    },
)
def evidence(finding: str) -> dict[str, Any]:
    row = Finding.objects.filter(pk=row_number(finding)).first()
    if row is None:
        raise Unanswerable("There is no such finding, or you do not see it.")
    related = [
        {"kind": str(entry.get("kind")), "subject": quoted(str(entry.get("subject")))}
        for entry in row.related or ()
        if isinstance(entry, Mapping)
    ]
    return {
        **_finding(row),
        "figures": _figures(row.evidence),
        "subject": quoted(row.subject),
        "hosts": list(row.named_hosts.values_list("host", flat=True)),
        "facts": {"quoted": row.data},
        "concerns": related,
        "known_bugs": _bugs([row]),
    }


def _analysis(name: str, job: JobCurrent, values: Mapping[str, str]) -> dict[str, Any]:
    analysis = all_analyses()[name]
    try:
        parameters = analysis.checked(values)
    except WrongParameters as wrong:
        raise Unanswerable(str(wrong)) from None
    document: dict[str, Any] = plain(analysis.answer(job, inputs_for_job(job, parameters)))
    return document


@tool(
    "what_changed",
    "What changed before and after",
    "A job before and after an instant: deploys and restarts, settings, durations, sizes, pressure.",
    {
        **JOB_ARGUMENTS,
        "at": "an ISO 8601 instant; without it, when its worst open finding began",
        "window": "how much before and after, such as 1h",
    },
)
def what_changed(cluster: str, job: str, at: str = "", window: str = "") -> dict[str, Any]:
    job_row = _job(cluster, job)
    if not at:
        worst = Finding.objects.of_job(job_row.cluster, job_row.job_id).open().worst_first().first()
        if worst is None:
            raise Unanswerable("Nothing is wrong with this job now: give `at`.")
        at = plain(worst.first_seen)
    values = {"at": at, **({"window": window} if window else {})}
    comparison = _analysis("before-after", job_row, values)
    return {**_job_facts(job_row), "at": at, "comparison": {"quoted": comparison}}


@tool(
    "checkpoints",
    "The newest checkpoints of a job",
    "Outcome, duration of each phase, size, slowest subtask and reason of failure of the newest.",
    JOB_ARGUMENTS,
)
def checkpoints(cluster: str, job: str) -> dict[str, Any]:
    job_row = _job(cluster, job)
    facts = CheckpointFact.objects.filter(cluster=job_row.cluster, job_id=job_row.job_id)
    return {
        **_job_facts(job_row),
        "checkpoints": [
            {
                "checkpoint": fact.checkpoint_id,
                "is_savepoint": fact.is_savepoint,
                "outcome": fact.outcome,
                "triggered_at": fact.trigger_time,
                **{name: getattr(fact, name) for name in CHECKPOINT_MS},
                "state_bytes": fact.state_bytes,
                "uploaded_bytes": fact.checkpointed_bytes,
                "acknowledged": fact.acknowledged,
                "subtasks": fact.subtasks,
                "slowest_vertex": quoted(fact.slowest_vertex_name),
                "slowest_subtask": fact.slowest_subtask,
                "slowest_host": fact.slowest_host,
                "reason": quoted(fact.reason_text or fact.reason),
            }
            for fact in facts.order_by("-trigger_time")[:MOST_CHECKPOINTS]
        ],
        "source": "REST and log of the JobManager",
    }


@tool(
    "pressure",
    "Where back-pressure comes from",
    "The newest measured minute of each vertex: busy, back-pressured, buffers, records, lag; and "
    "open findings on pressure.",
    JOB_ARGUMENTS,
)
def pressure(cluster: str, job: str) -> dict[str, Any]:
    job_row = _job(cluster, job)
    windows = PressureWindow.objects.filter(cluster=job_row.cluster, job_id=job_row.job_id)
    newest = windows.order_by("-window_start").values_list("window_start", flat=True).first()
    rows = windows.filter(window_start=newest).order_by("-busy_ms_per_s_mean") if newest else ()
    open_findings = Finding.objects.of_job(job_row.cluster, job_row.job_id).open()
    findings = open_findings.filter(Q(rule__startswith="pressure.") | Q(rule__startswith="data."))
    return {
        **_job_facts(job_row),
        "minute_from": newest,
        "vertices": [
            {
                "vertex": quoted(row.vertex_name),
                "parallelism": row.parallelism,
                "busy_ms_per_s": row.busy_ms_per_s_mean,
                "backpressured_ms_per_s": row.backpressured_ms_per_s_mean,
                "input_buffers_in_use": row.in_pool_mean,
                "output_buffers_in_use": row.out_pool_mean,
                "records_in_per_s": row.records_in_per_s,
                "records_out_per_s": row.records_out_per_s,
                "pending_records": row.pending_records,
                "emit_lag_ms": row.emit_lag_ms,
            }
            for row in rows
        ],
        "findings": [_finding(row) for row in findings.worst_first()[:MOST_FINDINGS]],
        "unknown": None if newest else "no buffer or busy metric of this job was measured",
    }


def _stored(row: JobStorage | RootFigures) -> dict[str, Any]:
    return {"all_bytes": row.bytes, **{name: getattr(row, name) for name in STORED_BYTES}}


@tool(
    "storage",
    "What lies in storage",
    "Live, wasted, orphaned and missing bytes of a job, or of a root, as of the newest audit. "
    "Nothing is deleted by asking.",
    {
        **JOB_ARGUMENTS,
        "root": "URI of a root of checkpoints, instead of a job",
    },
)
def storage(cluster: str = "", job: str = "", root: str = "") -> dict[str, Any]:
    if root:
        figures = latest_of(root)
        if figures is None:
            raise Unanswerable("No audit of such a root is known, or you do not see it.")
        missing = MissingFile.objects.filter(audit=figures.audit, root=root)
        return {
            "root": root,
            "audited_at": figures.as_of,
            "may_be_cleaned": figures.cleanable,
            "because": figures.not_cleanable,
            **_stored(figures),
            "missing": [quoted(row.path) for row in missing[:5]],
            "page": f"{link(reverse('storage-root'))}?{urlencode({'uri': root})}",
        }
    if not (cluster and job):
        raise Unanswerable("Give cluster and job, or a root.")
    job_row = _job(cluster, job)
    newest = next(iter(storage_of_job(job_row.cluster, job_row.job_id)), None)
    return {
        **_job_facts(job_row),
        "root": newest.root if newest else None,
        "audited_at": newest.audit.as_of if newest else None,
        **(_stored(newest) if newest else {}),
        "unknown": None if newest else "no audit has seen this job's checkpoints",
    }


def _incident(row: Incident) -> dict[str, Any]:
    return {
        "incident": row.uid,
        "cluster": row.cluster,
        "job": quoted(row.job_name),
        "title": quoted(localised(row.title)),
        "rule": row.rule,
        "severity": row.severity,
        "state": row.state,
        "began_at": row.began_at,
        "ended_at": row.ended_at,
        "comment": quoted(row.acknowledge_comment or None),
        "page": link(reverse("incident", args=(row.uid,))),
    }


@tool(
    "similar_incidents",
    "Where this happened before",
    "Incidents with the same rule as the worst finding of a job, of any job, the newest first, with "
    "what people said.",
    {
        **JOB_ARGUMENTS,
        "rule": "instead of that of the worst finding",
    },
)
def similar_incidents(cluster: str, job: str, rule: str = "") -> dict[str, Any]:
    job_row = _job(cluster, job)
    if not rule:
        worst = Finding.objects.of_job(job_row.cluster, job_row.job_id).worst_first().first()
        rule = worst.rule if worst else ""
    rows = Incident.objects.filter(rule=rule, merged_into=None).order_by("-began_at")
    return {
        "rule": rule,
        "incidents": [_incident(row) for row in rows[:MOST_INCIDENTS]],
        "known": rows.count(),
        "of_this_job": rows.filter(cluster=job_row.cluster, job_name=job_row.name).count(),
        "in_30_days": rows.filter(began_at__gte=timezone.now() - timedelta(days=30)).count(),
    }


@tool(
    "runbook",
    "What to do about a rule",
    "What a rule means, where to look, what to do now and for good, and when it is not this.",
    {
        "rule": "such as pressure.root",
    },
)
def runbook(rule: str) -> dict[str, Any]:
    definition = all_rules().get(rule)
    if definition is None:
        raise Unanswerable(f"There is no such rule. There are: {', '.join(sorted(all_rules()))}.")
    return {
        "rule": rule,
        "title": localised(definition.title),
        "sections": {
            title: [strip_tags(text) for _, texts in blocks for text in texts]
            for title, blocks in sections_of(rule)
        },
        "page": link(reverse("rule", args=(rule,))),
    }


@tool(
    "known_bugs",
    "Which bugs of Flink can hit a job",
    "Bugs of its release that it shows, that its configuration allows, or that cannot be told.",
    JOB_ARGUMENTS,
)
def known_bugs(cluster: str, job: str) -> dict[str, Any]:
    job_row = _job(cluster, job)
    bugs = bugs_of_job(job_row)

    def describe(issues: Iterable[str]) -> list[dict[str, Any]]:
        return [
            {
                "issue": issue,
                "effect": localised(BY_ISSUE[issue].effect),
                "way_out": localised(BY_ISSUE[issue].way_out),
                "link": BY_ISSUE[issue].address,
            }
            for issue in sorted(issues)
        ]

    return {
        **_job_facts(job_row),
        "flink_version": bugs.flink_version,
        "shows": describe(bugs.shows),
        "can_hit": describe(bugs.can_hit),
        "unknown": describe(bugs.unknown),
        "page": link(reverse("fleet-known-bugs")),
    }
