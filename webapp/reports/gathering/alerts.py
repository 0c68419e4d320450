"""Alerts of the chosen jobs in the time, and of the whole fleet by rule."""

from datetime import datetime

from django.db.models import Count, Q

from webapp.alerting.models import Alert
from webapp.reports import texts
from webapp.reports.document import ReportedAlert
from webapp.reports.gathering.scope import ReportScope

MOST = 200
MOST_RULES = 50


def gathered(scope: ReportScope) -> tuple[tuple[ReportedAlert, ...], int]:
    """The worst of those that fired, in order of time, and how many were left out. Two queries at
    most.

    Instants are those of the data, except who acknowledged when.
    """
    fired = Alert.objects.overlapping(scope.start, scope.end).filter(
        scope.rows, fired_at__isnull=False
    )
    worst = fired.order_by("-severity_rank", "-starts_at", "-id")[:MOST]
    rows = sorted(worst, key=lambda row: (row.starts_at, row.pk))
    return tuple(_reported(row) for row in rows), fired.count() - MOST if len(rows) == MOST else 0


def by_rule(start: datetime, end: datetime) -> tuple[tuple[str, int, int], ...]:
    """Rule, how many fired, how many of them were acknowledged; the most first."""
    fired = (
        Alert.objects.filter(starts_at__gte=start, starts_at__lt=end, fired_at__isnull=False)
        .order_by()
        .values("rule")
    )
    counted = fired.annotate(
        count=Count("id"), acknowledged=Count("id", filter=Q(acknowledged_at__isnull=False))
    ).order_by("-count", "rule")
    return tuple((row["rule"], row["count"], row["acknowledged"]) for row in counted[:MOST_RULES])


def _reported(row: Alert) -> ReportedAlert:
    return ReportedAlert(
        uid=row.uid,
        rule=row.rule,
        severity=row.severity,
        title=texts.bounded(row.title),
        job_name=texts.name(row.job_name, row.job_id or row.cluster),
        state=row.state,
        starts_at=row.starts_at,
        # Of a recording Weir's own clock says when it was imported, which is no part of the story.
        fired_at=row.starts_at,
        resolved_at=row.ends_at if row.resolved_at else None,
        acknowledged_by=texts.name(row.acknowledged_name),
        acknowledged_at=row.acknowledged_at,
        comment=texts.bounded(row.acknowledge_comment),
        firings=row.firings,
    )
