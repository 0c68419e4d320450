"""The rules of ``rules/``, by id; ``diagnose`` runs those for a given sample."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from importlib import import_module
from pkgutil import iter_modules

from ingest.messages import message
from spark_jobs.diagnosis import rules
from spark_jobs.diagnosis.findings import Diagnosis, Finding, Limits, NotJudged, Threshold, Unknown
from spark_jobs.diagnosis.rule import RULES, Rule, Sample
from spark_jobs.diagnosis.samples import JobWindow

logger = logging.getLogger(__name__)


def all_rules() -> Mapping[str, Rule]:
    _import_rules()
    return _rules(len(RULES))[None]


def rules_for(judges: type[Sample]) -> Mapping[str, Rule]:
    _import_rules()
    return _rules(len(RULES)).get(judges, {})


@cache
def _import_rules() -> None:
    for module in iter_modules(rules.__path__, f"{rules.__name__}."):
        import_module(module.name)


@lru_cache(maxsize=1)
def _rules(count: int) -> Mapping[type[Sample] | None, Mapping[str, Rule]]:
    """By sample; all under None. ``count``: of declared rules, to which tests add some."""
    by_sample: dict[type[Sample] | None, dict[str, Rule]] = {None: {}}
    for id, rule in sorted(RULES.items()):
        for sample in (None, rule.judges):
            by_sample.setdefault(sample, {})[id] = rule
    return by_sample


def all_thresholds() -> tuple[Threshold, ...]:
    return tuple(threshold for rule in all_rules().values() for threshold in rule.thresholds)


def events_read() -> frozenset[str]:
    return frozenset(kind for rule in all_rules().values() for kind in rule.reads)


def limits(overrides: Mapping[str, float] | None = None) -> Limits:
    return Limits(all_thresholds(), overrides)


def diagnose(
    sample: Sample, in_force: Limits | None = None, only: Iterable[str] | None = None
) -> Diagnosis:
    """Run every rule for this kind of sample, or those of ``only``. A rule that lacks data or fails
    becomes an ``Unknown``.
    """
    in_force = in_force or limits()
    findings: list[Finding] = []
    unknowns: list[Unknown] = []
    known = rules_for(type(sample))
    parts: dict[frozenset[str], Sample] = {}
    for rule in known.values() if only is None else [known[id] for id in only]:
        if _has_needs(sample, rule) and rule.reads not in parts:
            parts[rule.reads] = as_read(sample, rule.reads)
        part = parts.get(rule.reads, sample)
        if not _has_needs(part, rule):
            if rule.lacking and not (isinstance(sample, JobWindow) and sample.terminal):
                unknowns.append(Unknown(rule.id, rule.lacking))
            continue
        try:
            for finding in rule.judge(part, in_force):
                findings.append(finding if rule.is_proven else replace(finding, severity="info"))
        except NotJudged as lacking:
            unknowns.append(Unknown(rule.id, str(lacking)))
        except Exception as error:
            logger.exception("Rule %s broke on %s", rule.id, sample.called)
            unknowns.append(
                Unknown(rule.id, message("the rule failed: {name:name}", name=type(error).__name__))
            )
    return Diagnosis(tuple(findings), tuple(unknowns))


def _has_needs(sample: Sample, rule: Rule) -> bool:
    return not rule.needs or any(getattr(sample, name) for name in rule.needs)


def as_read(sample: Sample, reads: frozenset[str]) -> Sample:
    if not isinstance(sample, JobWindow) or not sample.events:
        return sample
    events = tuple(event for event in sample.events if event.rule_kind in reads)
    return sample if len(events) == len(sample.events) else replace(sample, events=events)
