from collections.abc import Collection

from spark_jobs.diagnosis.registry import all_rules
from webapp.findings.badges import SEVERITY_BADGES
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


def owner_control(reader: str) -> Control:
    return Control("owner", "Owner", (("", "Anybody's"), (reader, "mine"), ("-", "nobody's")))


def acknowledged_control() -> Control:
    return Control(
        "acknowledged",
        "Acknowledged",
        (("", "Acknowledged or not"), ("no", "not acknowledged"), ("yes", "acknowledged")),
    )
