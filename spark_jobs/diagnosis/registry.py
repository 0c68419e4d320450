"""The rules of ``rules/``, by id; ``diagnose`` applies them to a sample."""

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from ingest.messages import message
from spark_jobs.diagnosis import rules
from spark_jobs.diagnosis.findings import Diagnosis, Finding, Limits, NotJudged, Threshold, Unknown
from spark_jobs.diagnosis.rule import RULES, Rule, Sample
from spark_jobs.diagnosis.samples import JobWindow

logger = logging.getLogger(__name__)


@cache
def all_rules() -> Mapping[str, Rule]:
    for module in iter_modules(rules.__path__, f"{rules.__name__}."):
        import_module(module.name)
    return dict(sorted(RULES.items()))


@cache
def rules_for(judges: type[Sample]) -> Mapping[str, Rule]:
    return {id: rule for id, rule in all_rules().items() if rule.judges is judges}


def all_thresholds() -> tuple[Threshold, ...]:
    return tuple(threshold for rule in all_rules().values() for threshold in rule.thresholds)


def events_read() -> frozenset[str]:
    return frozenset(kind for rule in all_rules().values() for kind in rule.reads)


def limits(overrides: Mapping[str, float] | None = None) -> Limits:
    return Limits(all_thresholds(), overrides)


def diagnose(
    sample: Sample, rule_limits: Limits | None = None, only: Iterable[str] | None = None
) -> Diagnosis:
    """Runs the rules of ids ``only``, by default all of the class. A rule that lacks data or fails
    becomes an ``Unknown``.
    """
    rule_limits = rule_limits or limits()
    findings: list[Finding] = []
    unknowns: list[Unknown] = []
    rules_by_id = rules_for(type(sample))
    sample_by_reads: dict[tuple[str, ...], Sample] = {}
    for id in rules_by_id if only is None else only:
        rule = RULES[id]
        if _has_needs(sample, rule) and rule.reads not in sample_by_reads:
            sample_by_reads[rule.reads] = with_events_read(sample, rule.reads)
        rule_sample = sample_by_reads.get(rule.reads, sample)
        if not _has_needs(rule_sample, rule):
            if rule.lacking and not (isinstance(sample, JobWindow) and sample.terminal):
                unknowns.append(Unknown(rule.id, rule.lacking))
            continue
        try:
            for finding in rule.judge(rule_sample, rule_limits):
                findings.append(finding if rule.is_proven else replace(finding, severity="info"))
        except NotJudged as not_judged:
            unknowns.append(Unknown(rule.id, str(not_judged)))
        except Exception as error:
            logger.exception("Rule %s broke on %s, %s, %s", rule.id, *sample.subject)
            unknowns.append(
                Unknown(rule.id, message("the rule failed: {name:name}", name=type(error).__name__))
            )
    return Diagnosis(tuple(findings), tuple(unknowns))


def _has_needs(sample: Sample, rule: Rule) -> bool:
    return not rule.needs or any(getattr(sample, name) for name in rule.needs)


def with_events_read(sample: Sample, reads: Collection[str]) -> Sample:
    if not isinstance(sample, JobWindow) or not sample.events:
        return sample
    kinds = frozenset(reads)
    events = tuple(event for event in sample.events if event.rule_kind in kinds)
    return sample if len(events) == len(sample.events) else replace(sample, events=events)
