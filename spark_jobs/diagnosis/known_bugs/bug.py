from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ingest.messages import Message, join_messages, list_text, message
from spark_jobs.diagnosis.known_bugs.conditions import Condition, JobFacts
from spark_jobs.diagnosis.known_bugs.releases import Releases

Exposure = Literal["can_hit", "unknown", "no"]
Shown = Literal["shows", "may_explain"]


@dataclass(frozen=True)
class FindingFacts:
    """``exceptions``: traces of the job's failures while the finding was open."""

    rule: str
    confidence: str = "high"
    exceptions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Symptom:
    """A finding of one of ``rules``; if ``exception`` is set, only with this text in a stack trace.
    If the release has the bug, it ``proves`` the bug ``alone`` (nothing else is known to look like
    this), the bug ``with_conditions`` that are all known to hold, or nothing.
    """

    rules: tuple[str, ...]
    exception: str = ""
    proves: Literal["alone", "with_conditions", "nothing"] = "nothing"

    def is_in(self, finding: FindingFacts) -> bool:
        return finding.rule in self.rules and (
            not self.exception or any(self.exception in trace for trace in finding.exceptions)
        )


@dataclass(frozen=True)
class KnownBug:
    """``effect``: what happens to a job. ``workaround``: what helps without an upgrade, "" if
    nothing does. ``conditions``: all have to hold. ``sources``: of releases, conditions and effect.
    """

    issue: str
    effect: str
    releases: Releases
    sources: tuple[str, ...]
    conditions: tuple[Condition, ...] = ()
    workaround: str = ""
    symptom: Symptom | None = None

    @property
    def address(self) -> str:
        project, _, number = self.issue.partition("#")
        if number:
            return f"https://github.com/{project}/issues/{number}"
        return f"https://issues.apache.org/jira/browse/{self.issue}"

    @property
    def way_out(self) -> Message:
        return join_messages((self.releases.way_out, self.workaround), " ")

    @property
    def needs(self) -> Message:
        """The conditions for people, "" if every job meets them."""
        texts = [condition.text for condition in self.conditions]
        return list_text(texts, len(texts))

    def exposure(self, facts: JobFacts) -> Exposure:
        answers = {condition.holds(facts) for condition in self.conditions}
        affected = self.releases.affect(facts.flink_version)
        if affected == "no" or False in answers:
            return "no"
        return "can_hit" if affected == "yes" and None not in answers else "unknown"

    def not_known(self, facts: JobFacts) -> list[str]:
        """What is missing to tell whether the bug can hit."""
        version = [message("the release of Flink")]
        return [
            *(version if self.releases.affect(facts.flink_version) == "unknown" else ()),
            *(condition.text for condition in self.conditions if condition.holds(facts) is None),
        ]

    def explains(self, facts: JobFacts, finding: FindingFacts) -> Shown | None:
        """None unless the release is known to have the bug and no condition is known to fail."""
        exposure = self.exposure(facts)
        if (
            self.symptom is None
            or exposure == "no"
            or self.releases.affect(facts.flink_version) != "yes"
            or not self.symptom.is_in(finding)
        ):
            return None
        is_proof = self.symptom.proves == "alone" or (
            self.symptom.proves == "with_conditions" and exposure == "can_hit"
        )
        return "shows" if is_proof and finding.confidence != "low" else "may_explain"


def explaining(
    bugs: Iterable[KnownBug], facts: JobFacts, finding: FindingFacts
) -> list[tuple[KnownBug, Shown]]:
    explanations = [(bug, shown) for bug in bugs if (shown := bug.explains(facts, finding))]
    return sorted(explanations, key=lambda pair: pair[1] != "shows")
