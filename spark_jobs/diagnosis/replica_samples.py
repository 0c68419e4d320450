"""One job's copy of checkpoints after the last round."""

from dataclasses import dataclass

from spark_jobs.diagnosis.findings import Subject


@dataclass(frozen=True, slots=True)
class ReplicaSample:
    """``behind_ms``: from the trigger of the copied checkpoint to ``at_ms``, None if unknown;
    ``since_request_ms``: time since the copy was requested. ``trouble``: why the last round failed.
    """

    cluster: str
    job_id: str
    at_ms: int
    destination: str
    since_request_ms: int
    checkpoint_id: int | None = None
    behind_ms: int | None = None
    trouble: str = ""
    job_name: str | None = None
    ended: bool = False

    @property
    def subject(self) -> Subject:
        return "job", "copy", self.job_name or self.job_id
