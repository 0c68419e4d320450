"""Keys of work whose state pages show: whether Weir collects, and how far it has judged."""

COLLECT = "collect/"
"""With a shard's number."""
COLLECT_SLOW = "collect/slow"
"""Clusters of all shards that take long to answer: their shards do not wait for them."""
CYCLE = "spark/cycle"


def collect_key(shard: int) -> str:
    return f"{COLLECT}{shard}"


def number_of(key: str, prefix: str) -> int:
    """The number behind ``prefix``: of a shard, a plan, a report. Raises ``ValueError``."""
    return int(key.removeprefix(prefix))
