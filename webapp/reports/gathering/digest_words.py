"""The first screen of a digest. Pure."""

from datetime import datetime, timedelta

from ingest.messages import message, plural
from webapp.lib.quantities import UNKNOWN, bytes_text, count_text
from webapp.reports.document import Kpi, Point, Summary
from webapp.reports.gathering import bursts
from webapp.reports.gathering.digest_tables import success_text
from webapp.reports.gathering.week import Week

MOST_RULES, MOST_LINES = 3, 4


def days_text(start: datetime, end: datetime) -> str:
    """'2026-11-16 to 2026-11-22': the last day is the one that the end falls into, or ends."""
    last = end - timedelta(microseconds=1)
    return (
        f"{start:%Y-%m-%d}"
        if start.date() == last.date()
        else message(
            "{start:name} to {last:name}", start=f"{start:%Y-%m-%d}", last=f"{last:%Y-%m-%d}"
        )
    )


def summary(week: Week) -> Summary:
    critical = sum(job_week.critical for job_week in week.worst)
    return Summary(
        tone="crit"
        if critical
        else "warn"
        if week.troubled or week.failed
        else "ok"
        if week.jobs
        else "unknown",
        headline=_headline(week),
        happened=_happened(week),
        when=message(
            "{start:name} – {end:name} UTC.",
            start=f"{week.start:%Y-%m-%d %H:%M}",
            end=f"{week.end:%Y-%m-%d %H:%M}",
        ),
        cause=_causes(week),
        impact=_impact(week),
        actions=_actions(week),
        kpis=_kpis(week, critical),
        started_at=week.start,
        ended_at=week.end,
    )


def _headline(week: Week) -> str:
    if not week.jobs:
        return message("No job was seen in this time")
    if not week.troubled:
        return message(
            "{jobs:message} seen, none in trouble",
            jobs=plural(week.jobs, "{count:count} job", "{count:count} jobs"),
        )
    news = message(
        "{began_count:name} new findings, {ended_count:name} ended",
        began_count=count_text(week.began_count),
        ended_count=count_text(week.ended_count),
    )
    return message(
        "{troubled:name} of {jobs:message} in trouble; {news:message}",
        troubled=count_text(week.troubled),
        jobs=plural(week.jobs, "{count:count} job", "{count:count} jobs"),
        news=news,
    )


def _happened(week: Week) -> tuple[str, ...]:
    return tuple(
        message(
            "{name:name} on {cluster:name}: {reason:name}.",
            name=job_week.name,
            cluster=job_week.cluster,
            reason=job_week.reason,
        )
        for job_week in week.worst[:MOST_LINES]
    )


def _causes(week: Week) -> tuple[Point, ...]:
    if not week.by_rule:
        return (Point(message("None found"), message("No rule found anything new.")),)
    return tuple(
        Point(
            title,
            message(
                "{count:message} on {jobs:message}. The worst: {title:text}.",
                count=plural(count, "{count:count} time", "{count:count} times"),
                jobs=plural(jobs, "{count:count} job", "{count:count} jobs"),
                title=worst.title,
            ),
        )
        for title, count, jobs, worst in week.by_rule[:MOST_RULES]
    )


def _actions(week: Week) -> tuple[Point, ...]:
    steps: dict[str, Point] = {}
    for title, _count, _jobs_hit, worst in week.by_rule:
        where = worst.job_name or worst.cluster
        steps.setdefault(
            worst.next_step, Point(f"{title}, {where}" if where else title, worst.next_step)
        )
    return tuple(steps.values())[:MOST_RULES] or (
        Point(message("Nothing"), message("There is nothing to act on.")),
    )


def _impact(week: Week) -> tuple[str, ...]:
    sentences: list[str] = []
    settled = week.completed + week.failed
    if settled:
        sentences.append(
            message(
                "{failed:name} of {settled:name} checkpoints failed.",
                failed=count_text(week.failed),
                settled=count_text(settled),
            )
        )
    grown = [root.grown_bytes for root in week.roots if root.grown_bytes is not None]
    if grown:
        total = sum(grown)
        sentences.append(
            message(
                "Checkpoint storage {words:message} by {abs:name}.",
                words=message("grew") if total >= 0 else message("shrank"),
                abs=bytes_text(abs(total)),
            )
        )
    orphans = sum(root.orphan_bytes for root in week.roots)
    if orphans:
        sentences.append(message("{orphans:name} in it are orphaned.", orphans=bytes_text(orphans)))
    if week.bursts and week.bursts.worst:
        sentences.append(bursts.sentence(week.bursts.worst, week.bursts.start))
    if week.open_count:
        sentences.append(
            message(
                "{open_count:name} findings are still open.", open_count=count_text(week.open_count)
            )
        )
    return tuple(sentences) or (message("None that can be measured."),)


def _kpis(week: Week, critical: int) -> tuple[Kpi, ...]:
    settled = week.completed + week.failed
    grown = [root.grown_bytes for root in week.roots if root.grown_bytes is not None]
    fired = sum(count for _rule, count, _acknowledged in week.alerts)
    return (
        Kpi(
            message("Checkpoints completed"),
            success_text(week.completed / settled if settled else None),
            message("of {settled:name}", settled=count_text(settled)),
        ),
        Kpi(
            message("Jobs in trouble"),
            count_text(week.troubled),
            message("of {jobs:name}", jobs=count_text(week.jobs)),
            message("crit") if critical else message("warn") if week.troubled else "",
        ),
        Kpi(
            message("New findings"),
            count_text(week.began_count),
            message(
                "{ended_count:name} ended, {open_count:name} open",
                ended_count=count_text(week.ended_count),
                open_count=count_text(week.open_count),
            ),
        ),
        Kpi(
            message("Alerts"),
            count_text(fired),
            message("fired") if fired else message("none fired"),
        ),
        Kpi(
            message("Storage growth"),
            bytes_text(sum(grown)) if grown else UNKNOWN,
            message("{roots:number} roots", roots=len(week.roots))
            if week.roots
            else message("not audited"),
        ),
    )
