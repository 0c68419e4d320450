from dataclasses import dataclass

from ingest.messages import message
from spark_jobs.diagnosis.findings import Subject


@dataclass(frozen=True, slots=True)
class StageProgress:
    """``stage``: its key in Weir's due work, or ``disk``. ``since_ms``: when it last progressed."""

    stage: str
    at_ms: int
    since_ms: int
    error: str = ""

    @property
    def subject(self) -> Subject:
        return "weir", self.stage, message("Weir: {stage:name}", stage=self.stage)
