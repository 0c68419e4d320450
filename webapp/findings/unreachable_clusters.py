"""Judges ``collect.blind``: clusters that do not answer. A cycle has no rows to judge them by."""

from datetime import datetime, timedelta

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.plain import finding_to_plain
from spark_jobs.diagnosis.samples import JobWindow, SourceGap
from webapp.findings import marks
from webapp.findings.choices import FindingState
from webapp.findings.job_judgements import forget_unseen
from webapp.findings.models import Finding
from webapp.findings.overrides import limits_of
from webapp.findings.watched import keep
from webapp.fleet.models import Cluster
from webapp.lib.instants import epoch_ms

RULE = "collect.blind"
REST = "rest"


def watch(now: datetime) -> None:
    """Open, renew and close the findings; jobs of clusters that do not answer lose their health."""
    open_findings = {
        (finding.cluster, finding.subject_id): finding
        for finding in Finding.objects.open().filter(rule=RULE, job_id="")
    }
    fields = (
        "name",
        "last_success_at",
        "created_at",
        "last_error",
        "last_collected_at",
        "consecutive_failures",
        "consecutive_refusals",
        "failing_since",
        "operator",
    )
    for cluster in Cluster.objects.meant_to_run().only(*fields):
        gap = gap_of(cluster)
        window = JobWindow(
            cluster.name,
            "",
            epoch_ms(now),
            epoch_ms(now - timedelta(minutes=1)),
            gaps=(gap,) if gap else (),
        )
        for finding in registry.diagnose(window, limits_of(cluster.name), only=(RULE,)).findings:
            keep(
                open_findings.pop((cluster.name, finding.subject_id), None),
                cluster.name,
                finding_to_plain(finding),
                now,
                since=cluster.failing_since,
            )
    marks.close([finding.pk for finding in open_findings.values()], now)
    close_unwatched(now)
    forget_unseen(now)


def close_unwatched(now: datetime) -> int:
    """Close findings of clusters that were removed or are no longer listed."""
    unwatched = (
        Finding.objects.open()
        .exclude(cluster="")
        .exclude(cluster__in=Cluster.objects.filter(left_at__isnull=True).values("name"))
    )
    closed: int = unwatched.update(state=FindingState.CLOSED, closed_at=now, to_alert=True)
    return closed


def gap_of(cluster: Cluster) -> SourceGap | None:
    """How often in a row the cluster did not answer; None if it answered, or was never asked. Time
    is not counted: Weir itself may have been stopped.
    """
    cycles = cluster.missed_cycles
    if cycles < 1:
        return None
    operator_sentence = (
        f"Its operator says: {cluster.operator_message}." if cluster.operator_message else ""
    )
    return SourceGap(
        REST,
        epoch_ms(cluster.last_success_at or cluster.created_at),
        cycles,
        " ".join(filter(None, (cluster.last_error, operator_sentence))) or None,
    )
