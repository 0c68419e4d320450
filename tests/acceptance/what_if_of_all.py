"""``python -m tests.acceptance.what_if_of_all``: every job of a home judged again as what-if pages
do, with the thresholds in force.

Prints a line of JSON for each verdict: recorded ones and those of the what-if, the same fields of
both.
"""

import json
import os
import sys
from datetime import UTC, datetime

import django

NOT_READ = ("data.skew",)
"""Rules that read what a what-if says it does not: the full state of each subtask."""


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")
    django.setup()
    from webapp.findings.models import FindingOccurrence
    from webapp.fleet.models import JobCurrent

    for job in JobCurrent.objects.order_by("cluster", "job_id"):
        recorded = FindingOccurrence.objects.filter(cluster=job.cluster, job_id=job.job_id).exclude(
            rule__in=NOT_READ
        )
        for occurrence in recorded:
            _print(
                job,
                "recorded",
                occurrence.rule,
                occurrence.subject_id,
                occurrence.window_start,
                occurrence.severity,
                occurrence.title,
                occurrence.cause,
            )
        for again in _what_if(job):
            _print(job, "what-if", *again)
    return 0


def _what_if(job):  # type: ignore[no-untyped-def]  # Django's models are there only after its setup
    from spark_jobs.diagnosis.registry import diagnose, rules_for
    from spark_jobs.diagnosis.samples import JobWindow
    from webapp.alerting.what_if.past_windows import read_past
    from webapp.alerting.what_if.preview import in_force
    from webapp.findings.models import JobJudgement

    judgement = JobJudgement.objects.get(cluster=job.cluster, job_id=job.job_id)
    judged = {
        start for run in judgement.windows for start in range(run["first"], run["last"] + 1, 60)
    }
    rules = [rule for rule in rules_for(JobWindow).values() if rule.id not in NOT_READ]
    past = read_past(job, job.first_seen_at, judgement.judged_to, {rule.family for rule in rules})
    for window in past.windows:
        if window.window_start_ms // 1000 not in judged:
            continue
        for finding in diagnose(window, in_force(job), only=[rule.id for rule in rules]).findings:
            start = datetime.fromtimestamp(window.window_start_ms / 1000, UTC)
            yield (
                finding.rule,
                finding.subject_id,
                start,
                str(finding.severity),
                finding.title,
                finding.cause,
            )


def _print(job, which, rule, subject_id, window_start, severity, title, cause) -> None:  # type: ignore[no-untyped-def]
    told = [
        job.cluster,
        job.job_id,
        rule,
        subject_id,
        window_start.isoformat(),
        severity,
        title,
        cause,
    ]
    print(json.dumps([which, told], ensure_ascii=False))


if __name__ == "__main__":
    sys.exit(main())
