"""Declares rules and makes their findings. A rule gets only the log events that it declares."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Protocol, Required, TypedDict, TypeVar, Unpack

from ingest.messages import message
from spark_jobs.diagnosis.findings import (
    Confidence,
    Evidence,
    Finding,
    Limits,
    Related,
    Severity,
    Subject,
    Threshold,
)
from spark_jobs.diagnosis.objective_samples import ObjectiveBurn
from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.diagnosis.stack_traces import without_middle

JudgeT = TypeVar("JudgeT", bound=Callable[[Any, Limits], Iterable[Finding]])

DEFAULT_HOLD_S = 180


class Sample(Protocol):
    """What a rule judges, at one instant. Its first fields are its key."""

    @property
    def at_ms(self) -> int: ...

    @property
    def subject(self) -> Subject: ...


@dataclass(frozen=True)
class Rule:
    """``title`` is a few words, ``summary`` one sentence that says when the rule fires. ``hold_s``:
    occurrences no further apart than this belong to one episode. ``judges``: the class of sample
    that ``judge`` takes. ``reads``: kinds of log events. ``needs``: fields of the sample; if all
    are empty, the rule is not run, and is unknown for lack of ``lacking`` unless the job has ended.
    ``outlives_job``: its findings stay open until a later attempt runs.

    ``fed_by``: a recording of a real Flink below ``tests/fixtures`` in which the rule fires, or a
    test with a real Flink below ``tests`` (``integration/…``). Without it, findings are information
    only.
    """

    id: str
    title: str
    summary: str
    _: KW_ONLY
    hold_s: int = DEFAULT_HOLD_S
    thresholds: Sequence[Threshold] = ()
    judges: type[Sample] = JobWindow
    reads: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    lacking: str = ""
    outlives_job: bool = False
    fed_by: str = ""
    judge: Callable[[Any, Limits], Iterable[Finding]] = lambda sample, limits: ()

    @property
    def is_proven(self) -> bool:
        """Rules on Weir, its collection, and objectives (served rows) need no case."""
        needs_no_case = self.family in ("collect", "weir") or self.judges is ObjectiveBurn
        return bool(self.fed_by) or needs_no_case

    @property
    def family(self) -> str:
        return self.id.split(".", 1)[0]


RULES: dict[str, Rule] = {}


class rule(Rule):
    """Registers a rule; decorates the function that judges."""

    def __call__(self, judge: JudgeT) -> JudgeT:
        if self.id in RULES:
            raise ValueError(f"two rules are called {self.id}")
        RULES[self.id] = Rule(**{**vars(self), "judge": judge})
        return judge


class Words(TypedDict, total=False):
    """``subject``: by default that of the sample. ``seen_at_ms``: by default and at most the
    instant of judging, since clocks differ.
    """

    title: Required[str]
    cause: Required[str]
    next_step: Required[str]
    evidence: Required[Iterable[Evidence]]
    related: Iterable[Related]
    data: Mapping[str, Any]
    subject: Subject
    seen_at_ms: int
    began_at_ms: int


def sample_finding(
    sample: Sample,
    rule: str,
    severity: Severity,
    confidence: Confidence = "high",
    **words: Unpack[Words],
) -> Finding:
    return Finding(
        rule,
        severity,
        confidence,
        *words.get("subject", sample.subject),
        title=words["title"],
        cause=words["cause"],
        next_step=words["next_step"],
        seen_at_ms=min(words.get("seen_at_ms", sample.at_ms), sample.at_ms),
        evidence=tuple(words["evidence"]),
        related=tuple(words.get("related", ())),
        data=words.get("data", {}),
        began_at_ms=words.get("began_at_ms"),
    )


def job_finding(
    window: JobWindow, rule: str, severity: Severity, confidence: Confidence, **words: Unpack[Words]
) -> Finding:
    return sample_finding(window, rule, severity, confidence, **words)


def vertex_finding(
    window: JobWindow,
    vertex_id: str,
    rule: str,
    severity: Severity,
    confidence: Confidence,
    **words: Unpack[Words],
) -> Finding:
    words["subject"] = ("vertex", vertex_id, window.vertex_name(vertex_id))
    return sample_finding(window, rule, severity, confidence, **words)


def last_error(error: str | None) -> tuple[tuple[Evidence, ...], str]:
    """The error as evidence, and as a sentence to append; both may be empty."""
    if not error:
        return (), ""
    return (
        (Evidence(message("last error"), without_middle(error, 500)),),
        message(
            " The error of the last attempt: {without_middle:text}",
            without_middle=without_middle(error, 200),
        ),
    )
