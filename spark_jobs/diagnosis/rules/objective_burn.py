"""One rule for each kind of objective."""

from collections.abc import Callable, Iterator

from ingest.messages import message
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, Threshold
from spark_jobs.diagnosis.objective_samples import (
    BURN_WINDOWS,
    HOUR_MIN,
    OBJECTIVE_KINDS,
    BurnWindow,
    ObjectiveBurn,
    ObjectiveKind,
)
from spark_jobs.diagnosis.rule import rule, sample_finding


def _judge_of(kind: ObjectiveKind) -> Callable[[ObjectiveBurn, Limits], Iterator[Finding]]:
    def judge(sample: ObjectiveBurn, limits: Limits) -> Iterator[Finding]:
        if OBJECTIVE_KINDS[sample.kind] is not kind:
            return
        for window in BURN_WINDOWS:
            rates = sample.burn_rates(window)
            if rates is not None and min(rates) >= limits[f"{kind.rule}.{window.name}"]:
                yield _finding(kind, sample, window, rates, limits)
                return

    return judge


def _finding(
    kind: ObjectiveKind,
    sample: ObjectiveBurn,
    window: BurnWindow,
    rates: tuple[float, float],
    limits: Limits,
) -> Finding:
    long_burn, short_burn = rates
    counts = sample.counts[window.long_min]
    key = f"{kind.rule}.{window.name}"
    hours = window.long_min // HOUR_MIN
    missed_share, allowed_share = counts.bad / counts.total, 1 - sample.target
    evidence = [
        limits.evidence(message("burn rate over {hours:count} h", hours=hours), long_burn, key),
        limits.evidence(
            message("burn rate over {minutes:count} min", minutes=window.short_min), short_burn, key
        ),
        Evidence(message("missed"), missed_share, "ratio", allowed_share, ">"),
    ]
    budget_left = sample.budget.budget_left(sample.target)
    if budget_left is not None:
        evidence.append(
            Evidence(message("error budget left of 30 days"), max(budget_left, 0.0), "ratio")
        )
    if sample.limit_ms is not None and sample.value_ms is not None:
        evidence.append(Evidence(message("now"), sample.value_ms, "ms", sample.limit_ms, ">"))
    return sample_finding(
        sample,
        kind.rule,
        window.severity,
        title=message(
            "{job:name} burns its objective {objective:name} {burn:decimal1} times as fast as "
            "allowed",
            job=sample.subject[2],
            objective=sample.objective,
            burn=long_burn,
        ),
        cause=message(
            "{cause:message} It missed {missed:share} of the last {hours:count} h, where "
            "{allowed:share} are allowed.",
            cause=kind.cause,
            missed=missed_share,
            allowed=allowed_share,
            hours=hours,
        ),
        next_step=kind.next_step,
        evidence=evidence,
    )


for _kind in OBJECTIVE_KINDS.values():
    rule(
        _kind.rule,
        _kind.title,
        _kind.summary,
        judges=ObjectiveBurn,
        thresholds=[
            Threshold(
                f"{_kind.rule}.{window.name}",
                window.factor,
                "",
                0.1,
                1_000,
                message(
                    "Burn rate and windows of Google's Site Reliability Workbook: at this rate the "
                    "error budget of 30 days lasts {days:decimal1} days.",
                    days=30 / window.factor,
                ),
            )
            for window in BURN_WINDOWS
        ],
    )(_judge_of(_kind))
