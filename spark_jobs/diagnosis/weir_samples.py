from dataclasses import dataclass

from ingest.messages import message


@dataclass(frozen=True, slots=True)
class StageProgress:
    """``stage``: its key in Weir's due work, or ``disk``. ``since_ms``: when it last progressed."""

    stage: str
    at_ms: int
    since_ms: int
    error: str = ""

    @property
    def called(self) -> str:
        return message("stage {stage:name} of Weir", stage=self.stage)
