from collections.abc import Sequence

from spark_jobs.diagnosis.pressure import Subtasks, value

UNEVEN = 1.5
"""Multiple of the even share of records; less may be chance of key groups."""


def is_nearly_even(share: float | None, subtasks: int, parallelism: int) -> bool:
    """Whether so many subtasks get about their even share of records; False if unknown."""
    return share is not None and share < UNEVEN * subtasks / parallelism


def slow_host(vertex: Subtasks, hot: Sequence[int]) -> str | None:
    """The host that runs all hot subtasks and no others, while others run elsewhere. None if they
    are hot since they get more records.
    """
    hosts = vertex.window.host
    hot_hosts = {value(hosts, index) for index in hot}
    if len(hot_hosts) != 1 or (host := hot_hosts.pop()) is None:
        return None
    on_host = {index for index in range(vertex.parallelism) if value(hosts, index) == host}
    has_other_hosts = any(name not in (None, host) for name in hosts)
    if on_host != set(hot) or not has_other_hosts:
        return None
    share = vertex.records_in_share(hot)
    is_slow = len(hot) > 1 if share is None else is_nearly_even(share, len(hot), vertex.parallelism)
    return host if is_slow else None
