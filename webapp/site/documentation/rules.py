"""A page for each family of rules, with thresholds and runbooks, and a page that lists all rules."""

import re
from itertools import groupby

from django.template.loader import render_to_string

from spark_jobs.diagnosis.registry import all_rules
from spark_jobs.diagnosis.rule import Rule
from webapp.findings.runbooks import runbook
from webapp.findings.views.rules import FAMILIES
from webapp.site.documentation.markdown import table

UNPROVEN = (
    "No real Flink has fed this rule yet: its findings are of severity *info*, and neither alert nor "
    "lower the health of a job."
)


def pages() -> dict[str, str]:
    families = [
        (family, list(family_rules))
        for family, family_rules in groupby(all_rules().values(), key=lambda rule: rule.family)
    ]
    return {"reference/rules.md": _index(families)} | {
        f"reference/rules-{family}.md": _family(family, rules) for family, rules in families
    }


def _title(family: str) -> str:
    return FAMILIES.get(family, family.replace("_", " ").capitalize())


def _index(families: list[tuple[str, list[Rule]]]) -> str:
    parts = [
        "# Rules\n\nThese rules judge each minute of each job. The rules on storage judge each audit "
        "of checkpoint storage. "
        "If a rule lacks data, the result is *unknown*, never healthy."
    ]
    for family, rules in families:
        rows = [
            (f"[`{rule.id}`](rules-{family}.md#{_anchor(rule)})", rule.title, rule.summary)
            for rule in rules
        ]
        parts.append(f"## {_title(family)}\n\n{table(('rule', 'finding', 'when'), rows)}")
    return "\n\n".join(parts) + "\n"


def _family(family: str, rules: list[Rule]) -> str:
    return "\n\n".join([f"# Rules: {_title(family)}", *map(_rule, rules)]) + "\n"


def _anchor(rule: Rule) -> str:
    return re.sub(r"[^a-z0-9]+", "-", rule.id)


def _rule(rule: Rule) -> str:
    html = re.sub(
        r"\s*\n\s*", "\n", render_to_string("rules/_runbook.html", {"runbook": runbook(rule.id)})
    ).strip()
    parts = [f"## {rule.title} {{#{_anchor(rule)}}}", f"`{rule.id}`: {rule.summary}"]
    if not rule.is_proven:
        parts.append(UNPROVEN)
    if rule.thresholds:
        heads = ("threshold", "default", "may be", "why")
        parts.append(
            table(
                heads,
                [
                    (
                        f"`{threshold.key}`",
                        f"{threshold.default:.12g} {threshold.unit}".strip(),
                        f"{threshold.minimum:.12g} to {threshold.maximum:.12g}",
                        threshold.reason,
                    )
                    for threshold in rule.thresholds
                ],
            )
        )
    return "\n\n".join([*parts, html])
