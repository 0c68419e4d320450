"""What a setting would have done: the findings of the last week, alerted as it would have them.

Nothing is changed.
"""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta

from webapp.alerting.alert_rows import episode_of
from webapp.alerting.choices import AlertState
from webapp.alerting.lifecycle import Life, Policy, notified, take, tick
from webapp.alerting.models import RuleSetting
from webapp.alerting.policies import Policies
from webapp.findings.models import Finding, FindingQuerySet

SPAN = timedelta(days=7)
MOST_FINDINGS = 5_000


@dataclass(frozen=True)
class WouldHave:
    """``fired``: alerts; ``critical`` of them; ``findings``: those looked at; ``cut``: there were
    more of them.
    """

    fired: int
    critical: int
    findings: int
    cut: bool


@dataclass(frozen=True)
class SettingComparison:
    """What was in force against what is wanted, from ``start`` to ``end`` in the data."""

    start: datetime
    end: datetime
    now: WouldHave
    then: WouldHave


def compare(wanted: RuleSetting, now: datetime) -> SettingComparison:
    present, changed = Policies(), Policies(instead=wanted)
    findings: FindingQuerySet = Finding.objects.filter(wanted.narrows, rule=wanted.rule)
    end = now
    if wanted.cluster and present.is_recorded(wanted.cluster):
        # A recording's last week is its own.
        end = findings.order_by("-last_seen").values_list("last_seen", flat=True).first() or now
    recent = findings.filter(last_seen__gte=end - SPAN).defer("cause", "evidence", "data")
    rows = list(recent.order_by("-first_seen", "-id")[: MOST_FINDINGS + 1])
    cut, rows = len(rows) > MOST_FINDINGS, rows[:MOST_FINDINGS][::-1]
    return SettingComparison(
        end - SPAN, end, _count(rows, present, end, cut), _count(rows, changed, end, cut)
    )


def _count(rows: list[Finding], policies: Policies, end: datetime, cut: bool) -> WouldHave:
    by_identity: dict[tuple[str, str, str], list[Finding]] = defaultdict(list)
    for row in rows:
        by_identity[row.cluster, row.first_attempt_id, row.subject_id].append(row)
    ranks = [rank for findings in by_identity.values() for rank in _alerts(findings, policies, end)]
    return WouldHave(len(ranks), sum(rank >= 3 for rank in ranks), len(rows), cut)


def _alerts(findings: list[Finding], policies: Policies, end: datetime) -> list[int]:
    """Severity rank of every alert that these findings of one identity would have made, each
    episode seen when it happened.
    """
    ranks: list[int] = []
    last: Life | None = None
    for finding in findings:
        rule_policy = policies.rule_policy(
            finding.rule, finding.cluster, finding.job_id, finding.job_name
        )
        policy = rule_policy.policy(finding.severity_rank, recorded=False)
        episode = episode_of(finding, rule_policy.rank(finding.severity_rank))
        if last is not None:
            last = _later(last, policy, episode.first_seen, ranks)
        step = take(last, episode, policy, episode.closed_at or end)
        if (
            step.life is not None
            and step.life.firings
            and (step.is_new or last is None or not last.firings)
        ):
            ranks.append(step.life.rank)
        last = _notified(step.life)
    if last is not None:
        _later(last, policy, end, ranks)
    return ranks


def _later(last: Life, policy: Policy, at: datetime, ranks: list[int]) -> Life | None:
    life = tick(last, policy, at).life
    if life is not None and life.firings and not last.firings:
        ranks.append(life.rank)
    return _notified(life)


def _notified(life: Life | None) -> Life | None:
    return notified(life) if life is not None and life.state != AlertState.PENDING else life
