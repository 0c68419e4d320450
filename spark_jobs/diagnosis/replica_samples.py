"""What a rule on copies of checkpoints reads: the copy of one job, as the last try to bring it up
to date left it. Plain frozen data.
"""

from dataclasses import dataclass

from ingest.messages import message


@dataclass(frozen=True, slots=True)
class ReplicaSample:
    """``behind_ms``: at ``at_ms`` since the trigger of the checkpoint that is copied, None if that
    is not known; ``asked_ms``: since the copy was asked for. ``every_ms`` between two tries.
    ``trouble``: why the last one failed.
    """

    cluster: str
    job_id: str
    at_ms: int
    destination: str
    every_ms: int
    asked_ms: int
    checkpoint_id: int | None = None
    behind_ms: int | None = None
    trouble: str = ""
    job_name: str | None = None
    ended: bool = False

    @property
    def called(self) -> str:
        return message(
            "the copy of {job_id:name} at {destination:name}",
            job_id=self.job_id,
            destination=self.destination,
        )
