"""Declares rules and makes their findings. ``@rule`` registers a rule, which gets only the log
events that it declares (``reads``).
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Required, TypedDict, TypeVar, Unpack

from ingest.messages import message
from spark_jobs.diagnosis.findings import (
    Confidence,
    Evidence,
    Finding,
    Limits,
    Related,
    Severity,
    SubjectKind,
    Threshold,
)
from spark_jobs.diagnosis.namenode_samples import NameNodeReadings
from spark_jobs.diagnosis.objective_samples import ObjectiveBurn
from spark_jobs.diagnosis.replica_samples import ReplicaSample
from spark_jobs.diagnosis.samples import CheckpointSample, JobWindow
from spark_jobs.diagnosis.stack_traces import without_middle
from spark_jobs.diagnosis.storage_samples import StorageJobSample, StorageRootSample
from spark_jobs.diagnosis.weir_samples import StageProgress

Sample = (
    JobWindow
    | StorageRootSample
    | StorageJobSample
    | ReplicaSample
    | NameNodeReadings
    | StageProgress
    | ObjectiveBurn
)
JudgeT = TypeVar("JudgeT", bound=Callable[[Any, Limits], Iterable[Finding]])

DEFAULT_HOLD_S = 180


@dataclass(frozen=True)
class Rule:
    """``hold_s``: occurrences no further apart than this belong to one episode. ``judges``: the
    class of sample that ``judge`` takes. ``reads``: kinds of log events. ``needs``: fields of the
    sample; if all are empty, the rule is not run, and is unknown for lack of ``lacking`` unless the
    job has ended. ``outlives_job``: its findings stay open until a later attempt runs.

    ``fed_by``: a recording of a real Flink below ``tests/fixtures`` in which the rule fires, or a
    test with a real Flink below ``tests`` (``integration/…``). Without it, findings are information
    only.
    """

    id: str
    title: str
    summary: str
    judge: Callable[[Any, Limits], Iterable[Finding]]
    hold_s: int
    thresholds: tuple[Threshold, ...]
    judges: type[Sample] = JobWindow
    reads: frozenset[str] = frozenset()
    needs: tuple[str, ...] = ()
    lacking: str = ""
    outlives_job: bool = False
    fed_by: str = ""

    @property
    def is_proven(self) -> bool:
        """Rules on Weir, its collection, and objectives (served rows) need no case."""
        needs_no_case = self.family in ("collect", "weir") or self.judges is ObjectiveBurn
        return bool(self.fed_by) or needs_no_case

    @property
    def family(self) -> str:
        return self.id.split(".", 1)[0]


RULES: dict[str, Rule] = {}


def rule(
    id: str,
    title: str,
    summary: str,
    *,
    hold_s: int = DEFAULT_HOLD_S,
    thresholds: Iterable[Threshold] = (),
    reads: Iterable[str] = (),
    needs: Iterable[str] = (),
    lacking: str = "",
    outlives_job: bool = False,
    fed_by: str = "",
    judges: type[Sample] = JobWindow,
) -> Callable[[JudgeT], JudgeT]:
    """``title`` is a few words, ``summary`` one sentence that says when the rule fires."""

    def register(judge: JudgeT) -> JudgeT:
        if id in RULES:
            raise ValueError(f"two rules are called {id}")
        RULES[id] = Rule(
            id,
            title,
            summary,
            judge,
            hold_s,
            tuple(thresholds),
            judges,
            frozenset(reads),
            tuple(needs),
            lacking,
            outlives_job,
            fed_by,
        )
        return judge

    return register


class Words(TypedDict, total=False):
    """``seen_at_ms``: by default and at most the instant of judging, since clocks differ."""

    title: Required[str]
    cause: Required[str]
    next_step: Required[str]
    evidence: Required[Iterable[Evidence]]
    related: Iterable[Related]
    data: Mapping[str, Any]
    seen_at_ms: int
    began_at_ms: int


def job_finding(
    window: JobWindow, rule: str, severity: Severity, confidence: Confidence, **words: Unpack[Words]
) -> Finding:
    """A finding of the cluster if the window has no job."""
    subject: _Subject = ("job", "job", window.job_name or window.job_id)
    if not window.job_id:
        name = message("{cluster:name}: JobManager", cluster=window.cluster)
        subject = ("cluster", "jobmanager", name)
    return _finding(rule, severity, confidence, subject, window.at_ms, words)


def vertex_finding(
    window: JobWindow,
    vertex_id: str,
    rule: str,
    severity: Severity,
    confidence: Confidence,
    **words: Unpack[Words],
) -> Finding:
    name = window.vertex_name(vertex_id)
    return _finding(rule, severity, confidence, ("vertex", vertex_id, name), window.at_ms, words)


def checkpoint_finding(
    window: JobWindow,
    checkpoint: CheckpointSample,
    rule: str,
    severity: Severity,
    confidence: Confidence,
    **words: Unpack[Words],
) -> Finding:
    name = message("checkpoint {checkpoint_id:number}", checkpoint_id=checkpoint.checkpoint_id)
    words["seen_at_ms"] = words["began_at_ms"] = checkpoint.ended_ms
    subject: _Subject = ("checkpoint", f"{name} @ {checkpoint.trigger_time_ms}", name)
    return _finding(rule, severity, confidence, subject, window.at_ms, words)


def store_finding(
    window: JobWindow,
    subject_id: str,
    store: str,
    rule: str,
    severity: Severity,
    confidence: Confidence,
    **words: Unpack[Words],
) -> Finding:
    return _finding(rule, severity, confidence, ("store", subject_id, store), window.at_ms, words)


def root_finding(
    sample: StorageRootSample, rule: str, severity: Severity, **words: Unpack[Words]
) -> Finding:
    words["data"] = {"root": sample.root, **words.get("data", {})}
    return _finding(
        rule, severity, "high", ("root", sample.root, sample.root), sample.audited_at_ms, words
    )


def stored_job_finding(
    sample: StorageJobSample, rule: str, severity: Severity, **words: Unpack[Words]
) -> Finding:
    """A job that no cluster reported has no page: its directory is the subject."""
    directory = f"{sample.root}/{sample.job_id}"
    subject: _Subject = (
        ("job", sample.root, sample.job_name or sample.job_id)
        if sample.cluster
        else ("root", directory, directory)
    )
    words["data"] = {"root": sample.root, "job_id": sample.job_id, **words.get("data", {})}
    return _finding(rule, severity, "high", subject, sample.audited_at_ms, words)


def replica_finding(
    sample: ReplicaSample, rule: str, severity: Severity, **words: Unpack[Words]
) -> Finding:
    name = sample.job_name or sample.job_id
    return _finding(rule, severity, "high", ("job", "copy", name), sample.at_ms, words)


def namenode_finding(
    sample: NameNodeReadings, rule: str, severity: Severity, **words: Unpack[Words]
) -> Finding:
    name = message("{cluster:name}: NameNode", cluster=sample.cluster)
    return _finding(rule, severity, "high", ("cluster", "namenode", name), sample.at_ms, words)


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


_Subject = tuple[SubjectKind, str, str]


def _finding(
    rule: str,
    severity: Severity,
    confidence: Confidence,
    subject: _Subject,
    at_ms: int,
    words: Words,
) -> Finding:
    return Finding(
        rule,
        severity,
        confidence,
        *subject,
        title=words["title"],
        cause=words["cause"],
        next_step=words["next_step"],
        seen_at_ms=min(words.get("seen_at_ms", at_ms), at_ms),
        evidence=tuple(words["evidence"]),
        related=tuple(words.get("related", ())),
        data=words.get("data", {}),
        began_at_ms=words.get("began_at_ms"),
    )
