from collections.abc import Collection

from spark_jobs.diagnosis.registry import all_rules
from webapp.findings.badges import SEVERITY_BADGES
from webapp.findings.choices import Severity
from webapp.fleet.list_controls import clusters_control
from webapp.lib.list_pages import Control


def rule_control() -> Control:
    return Control("rule", "Rule", [("", "Any rule"), *((rule, rule) for rule in all_rules())])


def severity_control(severities: Collection[str] = tuple(SEVERITY_BADGES)) -> Control:
    badges = [(code, SEVERITY_BADGES[code]) for code in SEVERITY_BADGES if code in severities]
    return Control(
        "severity",
        "Severity",
        [
            ("", "Any severity"),
            *((value, f"{badge.shape} {badge.word}") for value, badge in badges),
        ],
    )


def trouble_controls(reader: str) -> list[Control]:
    """The controls of both lists, of alerts and of incidents. ``reader``: name of who reads it."""
    return [
        severity_control((Severity.WARNING, Severity.CRITICAL)),
        clusters_control(),
        rule_control(),
        Control(
            "acknowledged",
            "Acknowledged",
            (("", "Acknowledged or not"), ("no", "not acknowledged"), ("yes", "acknowledged")),
        ),
        Control("owner", "Owner", (("", "Anybody's"), (reader, "mine"), ("-", "nobody's"))),
    ]
