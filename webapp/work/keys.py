COLLECT = "collect/"
"""The prefix before a shard's number."""
COLLECT_SLOW = "collect/slow"
"""Reads the clusters of all shards that take long to answer, so that shards do not wait."""
CYCLE = "spark/cycle"


def collect_key(shard: int) -> str:
    return f"{COLLECT}{shard}"


def number_of(key: str, prefix: str) -> int:
    """The number after ``prefix``: of a shard, a plan or a report. Raises ``ValueError``."""
    return int(key.removeprefix(prefix))
