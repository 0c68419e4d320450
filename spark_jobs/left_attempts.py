"""What earlier attempts may have left running on a Spark Connect server."""

from collections.abc import Sequence


def interrupt_attempts(tags: Sequence[str]) -> None:
    """Spark is imported only where there are any: that takes longer than a small job."""
    if tags:
        from spark_jobs.session import interrupt_attempt

        for tag in tags:
            interrupt_attempt(tag)
