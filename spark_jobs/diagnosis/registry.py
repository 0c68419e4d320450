"""The rules of ``rules/``, by id; ``diagnose`` runs those for a given sample."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules

from ingest.messages import message
from spark_jobs.diagnosis import rules
from spark_jobs.diagnosis.findings import Diagnosis, Finding, Limits, NotJudged, Threshold, Unknown
from spark_jobs.diagnosis.rule import RULES, Rule, Sample
from spark_jobs.diagnosis.samples import JobWindow

logger = logging.getLogger(__name__)


class _RulesOfSample(dict[str, Rule]):
    def __missing__(self, id: str) -> Rule:
        raise KeyError(
            f"no rule {id!r} judges such samples: is its module in spark_jobs/diagnosis/rules/?"
        )


_sorted: Mapping[str, Rule] = {}
_by_sample: Mapping[type[Sample], Mapping[str, Rule]] = {}
_events_read: frozenset[str] = frozenset()
_needed: Sequence[str] = ()
_asked: dict[tuple[type[Sample], frozenset[str]], Sequence[Rule]] = {}
"""Rules for samples in which these fields of ``_needed`` are empty."""


def all_rules() -> dict[str, Rule]:
    return dict(_in_order())


def rules_for(judges: type[Sample]) -> Mapping[str, Rule]:
    _in_order()
    return _by_sample.get(judges, {})


def _in_order() -> Mapping[str, Rule]:
    global _sorted, _by_sample, _events_read, _needed
    if not _sorted:
        for module in iter_modules(rules.__path__, f"{rules.__name__}."):
            import_module(module.name)
    if len(_sorted) != len(RULES):
        _sorted = dict(sorted(RULES.items()))
        kinds = {known.judges for known in RULES.values()}
        _by_sample = {
            kind: _RulesOfSample(
                {id: known for id, known in _sorted.items() if known.judges is kind}
            )
            for kind in kinds
        }
        _events_read = frozenset(kind for known in _sorted.values() for kind in known.reads)
        _needed = tuple(dict.fromkeys(name for known in _sorted.values() for name in known.needs))
        _asked.clear()
    return _sorted


def all_thresholds() -> tuple[Threshold, ...]:
    return tuple(threshold for known in all_rules().values() for threshold in known.thresholds)


def events_read() -> frozenset[str]:
    _in_order()
    return _events_read


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
    rules = rules_for(type(sample))
    seen: dict[frozenset[str], Sample] = {}
    for asked in _worth_asking(sample) if only is None else [rules[id] for id in only]:
        if (read := seen.get(asked.reads)) is None:
            read = seen[asked.reads] = as_read(sample, asked.reads)
        if asked.needs and not any(getattr(read, name) for name in asked.needs):
            if asked.lacking and not (isinstance(read, JobWindow) and read.terminal):
                unknowns.append(Unknown(asked.id, asked.lacking))
            continue
        try:
            for finding in asked.judge(read, in_force):
                findings.append(finding if asked.is_proven else replace(finding, severity="info"))
        except NotJudged as lacking:
            unknowns.append(Unknown(asked.id, str(lacking)))
        except Exception as error:
            logger.exception("Rule %s broke on %s", asked.id, sample.called)
            unknowns.append(
                Unknown(
                    asked.id, message("the rule failed: {name:name}", name=type(error).__name__)
                )
            )
    return Diagnosis(tuple(findings), tuple(unknowns))


def _worth_asking(sample: Sample) -> Sequence[Rule]:
    rules = rules_for(type(sample)).values()
    empty = frozenset(name for name in _needed if not getattr(sample, name, ()))
    key = type(sample), empty
    if (known := _asked.get(key)) is None:
        known = _asked[key] = [
            rule
            for rule in rules
            if not rule.needs or rule.lacking or not empty.issuperset(rule.needs)
        ]
    return known


def as_read(sample: Sample, reads: frozenset[str]) -> Sample:
    if not isinstance(sample, JobWindow) or not sample.events:
        return sample
    events = tuple(event for event in sample.events if event.rule_kind in reads)
    return sample if len(events) == len(sample.events) else replace(sample, events=events)
