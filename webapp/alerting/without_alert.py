from collections.abc import Sequence
from datetime import timedelta

from django.utils.translation import gettext

from webapp.alerting.choices import LEAST_RANK
from webapp.alerting.policies import Policies
from webapp.alerting.unnotified import Unnotified
from webapp.findings.choices import FindingState
from webapp.findings.models import Finding


def why_no_alert(findings: Sequence[Finding]) -> Unnotified:
    """At most four queries."""
    if not findings:
        gone = gettext(
            "Whether anybody was notified is no longer known: its findings and alerts are not kept."
        )
        return Unnotified(((0, gone),), is_known=False)
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
        "With the current settings it would alert: the settings were different, or its alert "
        "continued in another incident."
    )
