"""Why an incident has no alert, by the settings of its findings' rules."""

from collections.abc import Sequence
from datetime import timedelta

from django.utils.translation import gettext

from webapp.alerting.choices import LEAST_RANK
from webapp.alerting.models import Alert
from webapp.alerting.policies import Policies
from webapp.alerting.unnotified import Unnotified
from webapp.findings.choices import FindingState
from webapp.findings.models import Finding

MOST_COMPARED = 500


def why_no_alert(findings: Sequence[Finding]) -> Unnotified:
    """For findings whose incident has no alert; at most five queries for any number."""
    if not findings:
        gone = gettext(
            "Whether anybody was notified is no longer known: its findings and alerts are not kept."
        )
        return Unnotified(((0, gone),), is_known=False)
    if other := _incident_of_their_alert(findings):
        went_on = gettext("Its alert continued, and is part of another incident.")
        return Unnotified(((len(findings), went_on),), is_known=False, elsewhere=other)
    policies = Policies()
    return Unnotified.counted(_why(row, policies) for row in findings)


def _why(row: Finding, policies: Policies) -> str:
    policy = policies.rule_policy(row.rule, row.cluster, row.job_id, row.job_name)
    if not policy.alerts:
        return gettext("Alerts are switched off for the rule.")
    if policy.rank(row.severity_rank) < LEAST_RANK:
        if row.severity_rank >= LEAST_RANK:
            return gettext("The severity that is set for the rule is below a warning.")
        return gettext("What is less severe than a warning does not alert.")
    if policies.why_ended(row.cluster):
        return gettext("The cluster is no longer watched.")
    if row.to_alert:
        return gettext("The next evaluation processes it.")
    if (
        row.state == FindingState.CLOSED
        and timedelta() < policy.hold_before > row.last_seen - row.first_seen
    ):
        return gettext("What ends within the hold time does not alert.")
    return gettext(
        "With the current settings it would alert; with the settings at that time it did not."
    )


def _incident_of_their_alert(findings: Sequence[Finding]) -> str:
    """The incident of an alert's newest episode, which matters if the alert is pending for long.
    Empty if there is none.
    """
    near = Alert.objects.filter(
        cluster__in={row.cluster for row in findings},
        rule__in={row.rule for row in findings},
        subject_id__in={row.subject_id for row in findings},
        incident__isnull=False,
    ).overlapping(min(row.first_seen for row in findings), max(row.last_seen for row in findings))
    read = (
        "cluster",
        "first_attempt_id",
        "rule",
        "subject_id",
        "starts_at",
        "ends_at",
        "incident",
    )
    alerts = list(near.order_by("-id").only(*read)[:MOST_COMPARED])
    return next(
        (
            alert.incident_id or ""
            for alert in alerts
            if any(_is_of(alert, row) for row in findings)
        ),
        "",
    )


def _is_of(alert: Alert, row: Finding) -> bool:
    is_near = alert.starts_at <= row.last_seen and (
        alert.ends_at is None or alert.ends_at >= row.first_seen
    )
    return is_near and alert.identity == row.identity
