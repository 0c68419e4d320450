"""Whether a few subtasks work more than their siblings because of their host."""

from collections.abc import Sequence

from spark_jobs.diagnosis.pressure import Subtasks, value

UNEVEN = 1.5
"""In multiples of the even share of records: less may be chance of key groups."""


def is_ordinary(share: float | None, hot: int, parallelism: int) -> bool:
    return share is not None and share < UNEVEN * hot / parallelism


def slow_host(vertex: Subtasks, hot: Sequence[int]) -> str | None:
    """The host that runs all hot subtasks and no others, while the vertex has subtasks elsewhere."""
    hosts = vertex.window.host
    places = {value(hosts, index) for index in hot}
    if len(places) != 1 or (host := places.pop()) is None:
        return None
    here = [index for index in range(vertex.parallelism) if value(hosts, index) == host]
    elsewhere = any(other not in (None, host) for other in hosts)
    if set(here) != set(hot) or not elsewhere:
        return None
    share = vertex.records_in_share(hot)
    is_host = len(hot) > 1 if share is None else is_ordinary(share, len(hot), vertex.parallelism)
    return host if is_host else None
