"""The first screen of a digest. Pure."""

from datetime import datetime, timedelta

from spark_jobs.diagnosis import wording
from webapp.lib.quantities import UNKNOWN, bytes_text, count_text
from webapp.reports.document import Kpi, Point, Summary
from webapp.reports.gathering import bursts
from webapp.reports.gathering.digest_tables import success_text
from webapp.reports.gathering.week import Week

MOST_RULES, MOST_LINES = 3, 4


def days_text(start: datetime, end: datetime) -> str:
    """'2026-11-16 to 2026-11-22': the last day is the one that the end falls into, or ends."""
    last = end - timedelta(microseconds=1)
    return f"{start:%Y-%m-%d}" if start.date() == last.date() else f"{start:%Y-%m-%d} to {last:%Y-%m-%d}"


def summary(week: Week) -> Summary:
    critical = sum(one.critical for one in week.worst)
    return Summary(
        tone="crit" if critical else "warn" if week.troubled or week.failed else "ok" if week.jobs else "unknown",
        headline=_headline(week),
        happened=_happened(week),
        when=f"{week.start:%Y-%m-%d %H:%M} – {week.end:%Y-%m-%d %H:%M} UTC.",
        cause=_causes(week),
        impact=_impact(week),
        actions=_actions(week),
        kpis=_kpis(week, critical),
        started_at=week.start,
        ended_at=week.end,
    )


def _headline(week: Week) -> str:
    if not week.jobs:
        return "No job was seen in this time"
    if not week.troubled:
        return f"{wording.count_text(week.jobs, 'job')} seen, none in trouble"
    news = f"{count_text(week.began_count)} new findings, {count_text(week.ended_count)} ended"
    return f"{count_text(week.troubled)} of {wording.count_text(week.jobs, 'job')} in trouble; {news}"


def _happened(week: Week) -> tuple[str, ...]:
    return tuple(f"{one.name} on {one.cluster}: {one.reason}." for one in week.worst[:MOST_LINES])


def _causes(week: Week) -> tuple[Point, ...]:
    if not week.by_rule:
        return (Point("None found", "No rule found anything new."),)
    return tuple(
        Point(title, f"{wording.count_text(count, 'time')} on {wording.count_text(jobs, 'job')}. The worst: {worst.title}.")
        for title, count, jobs, worst in week.by_rule[:MOST_RULES]
    )


def _actions(week: Week) -> tuple[Point, ...]:
    steps: dict[str, Point] = {}
    for title, _count, _jobs_hit, worst in week.by_rule:
        where = worst.job_name or worst.cluster
        steps.setdefault(worst.next_step, Point(f"{title}, {where}" if where else title, worst.next_step))
    return tuple(steps.values())[:MOST_RULES] or (Point("Nothing", "There is nothing to act on."),)


def _impact(week: Week) -> tuple[str, ...]:
    said = []
    settled = week.completed + week.failed
    if settled:
        said.append(f"{count_text(week.failed)} of {count_text(settled)} checkpoints failed.")
    grown = [one.grown_bytes for one in week.roots if one.grown_bytes is not None]
    if grown:
        total = sum(grown)
        said.append(f"Checkpoint storage {'grew' if total >= 0 else 'shrank'} by {bytes_text(abs(total))}.")
    orphans = sum(one.orphan_bytes for one in week.roots)
    if orphans:
        said.append(f"{bytes_text(orphans)} in it are orphaned.")
    if week.bursts and week.bursts.worst:
        said.append(bursts.sentence(week.bursts.worst, week.bursts.start))
    if week.open_count:
        said.append(f"{count_text(week.open_count)} findings are still open.")
    return tuple(said) or ("None that can be measured.",)


def _kpis(week: Week, critical: int) -> tuple[Kpi, ...]:
    settled = week.completed + week.failed
    grown = [one.grown_bytes for one in week.roots if one.grown_bytes is not None]
    fired = sum(count for _rule, count, _acknowledged in week.alerts)
    return (
        Kpi("Checkpoints completed", success_text(week.completed / settled if settled else None), f"of {count_text(settled)}"),
        Kpi(
            "Jobs in trouble",
            count_text(week.troubled),
            f"of {count_text(week.jobs)}",
            "crit" if critical else "warn" if week.troubled else "",
        ),
        Kpi("New findings", count_text(week.began_count), f"{count_text(week.ended_count)} ended, {count_text(week.open_count)} open"),
        Kpi("Alerts", count_text(fired), "fired" if fired else "none fired"),
        Kpi("Storage growth", bytes_text(sum(grown)) if grown else UNKNOWN, f"{len(week.roots)} roots" if week.roots else "not audited"),
    )
