"""Judges ``weir.behind``: whether Weir's own due work makes progress. Findings, unlike metrics, are
sent to endpoints.
"""

from collections.abc import Iterator
from datetime import datetime

from django.db.models import Q

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.plain import finding_to_plain
from spark_jobs.diagnosis.weir_samples import StageProgress
from webapp.findings import marks
from webapp.findings.models import Finding
from webapp.findings.overrides import limits_of
from webapp.findings.watched import keep
from webapp.fleet.pipeline_status import alarms, disk_budget
from webapp.lib.instants import epoch_ms
from webapp.work.keys import COLLECT, CYCLE
from webapp.work.models import DueWork, Heartbeat, PipelineAlarm

RULE = "weir.behind"
DISK = "disk"


def watch(now: datetime) -> None:
    open_findings = {
        finding.subject_id: finding for finding in Finding.objects.open().filter(rule=RULE)
    }
    for stage in _stages(now, set(open_findings)):
        for finding in registry.diagnose(stage, limits_of("")).findings:
            keep(open_findings.pop(finding.subject_id, None), "", finding_to_plain(finding), now)
    marks.close([finding.pk for finding in open_findings.values()], now)


def _stages(now: datetime, open_findings: set[str]) -> Iterator[StageProgress]:
    runs_since = (
        Heartbeat.objects.filter(name=alarms.TICK).values_list("since", flat=True).first() or now
    )
    for row in DueWork.objects.filter(Q(key=CYCLE) | Q(key__startswith=COLLECT)):
        since = row.last_success_at or row.created_at or runs_since
        if row.key not in open_findings:
            since = max(since, runs_since)
        yield StageProgress(row.key, epoch_ms(now), epoch_ms(since), row.last_error or "")
    alarm = (
        PipelineAlarm.objects.filter(code=disk_budget.CODE, cleared_at__isnull=True)
        .order_by("since")
        .first()
    )
    if alarm is not None:
        yield StageProgress(DISK, epoch_ms(now), epoch_ms(alarm.since), alarm.detail)
