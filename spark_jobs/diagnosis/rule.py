"""What a rule is: each registers itself where it is defined. A rule sees the log events that it
declares (``reads``) and no others.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from spark_jobs.diagnosis.findings import Finding
from spark_jobs.diagnosis.namenode_samples import NameNodeReadings
from spark_jobs.diagnosis.objective_samples import ObjectiveBurn
from spark_jobs.diagnosis.replica_samples import ReplicaSample
from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.diagnosis.storage_samples import StorageJobSample, StorageRootSample
from spark_jobs.diagnosis.thresholds import Limits, Threshold
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
SampleT = TypeVar(
    "SampleT",
    JobWindow,
    StorageRootSample,
    StorageJobSample,
    ReplicaSample,
    NameNodeReadings,
    StageProgress,
    ObjectiveBurn,
)
Judge = Callable[[SampleT, Limits], Iterable[Finding]]

DEFAULT_HOLD_S = 180


@dataclass(frozen=True, slots=True)
class Rule:
    """``hold_s``: occurrences no further apart than this belong to one episode. ``judges``: the
    class of sample that ``judge`` takes. ``reads``: kinds of log events. ``needs``: fields of the
    sample; where all of them are empty the rule is not asked, and lacks ``lacking`` unless the job
    has ended. ``outlives_job``: what it finds stays open until a later attempt runs. ``fed_by``: a
    recording of a real Flink in which it fires, below ``tests/fixtures``, the test below ``tests``
    that plays it, or a case made after public reports; without, findings are information only.
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
    def is_reported(self) -> bool:
        return self.fed_by.startswith(("field/", "diagnosis/"))

    @property
    def is_proven(self) -> bool:
        """What Weir says of itself and of its own collection needs no recording of Flink; nor do
        objectives, which count what is served of jobs.
        """
        counts = self.family in ("collect", "weir") or self.judges is ObjectiveBurn
        return bool(self.fed_by) or counts

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
    # the default of a constrained type variable
    judges: type[SampleT] = JobWindow,  # type: ignore[assignment]
) -> Callable[[Judge[SampleT]], Judge[SampleT]]:
    """Register a rule.

    ``title`` is a few words, ``summary`` one sentence that says when it fires.
    """

    def register(judge: Judge[SampleT]) -> Judge[SampleT]:
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
