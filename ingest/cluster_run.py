from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from ingest.flink_rest.client import Gates, RestClient, client_of
from ingest.flink_rest.collector import Collected
from ingest.flink_rest.limits import RequestLimits
from ingest.json_members import as_object
from ingest.records import Observed, Skip
from ingest.source_read import SourceRead
from ingest.sources import ClusterSource

CollectorCursor = dict[str, Any]
T = TypeVar("T")


@dataclass
class Shard:
    """Clusters that are read together. ``limits``: of one cluster."""

    at: Callable[[], datetime]
    cycle_s: float
    limits: RequestLimits
    runs: list["ClusterRun"] = field(default_factory=list)
    gates: Gates = field(default_factory=Gates)
    _shared: dict[Callable[["Shard"], Any], Any] = field(default_factory=dict)

    def shared(self, make: Callable[["Shard"], T]) -> T:
        """What ``make`` returns; it is called once for the shard."""
        if make not in self._shared:
            self._shared[make] = make(self)
        value: T = self._shared[make]
        return value

    def count_clusters(self, condition: Callable[[ClusterSource], Any]) -> int:
        return sum(bool(condition(run.cluster)) for run in self.runs)


@dataclass(slots=True)
class ClusterRun:
    cluster: ClusterSource
    cursor: CollectorCursor
    shard: Shard
    observed: list[Observed] = field(default_factory=list)
    rest: Collected | None = None
    reachable: bool = True
    error: str | None = None
    requests: int = 0
    jobs_seen: int = 0
    outcome: dict[str, Any] = field(default_factory=dict)
    took_s: float = 0
    stalled_s: float = 0
    files_late: bool = False

    @property
    def answers(self) -> bool:
        return self.rest is not None and self.reachable

    def cursor_of(self, name: str) -> dict[str, Any]:
        """The part of the cursor for the source ``name``."""
        return as_object(self.cursor.get(name))

    @asynccontextmanager
    async def count_requests(self, client: RestClient) -> AsyncIterator[RestClient]:
        async with client:
            try:
                yield client
            finally:
                self.requests += client.requests

    def client(self, url: str) -> AbstractAsyncContextManager[RestClient]:
        return self.count_requests(client_of(self.cluster, url, self.shard.gates.of(url)))

    def add(self, name: str, source_read: SourceRead) -> None:
        self.cursor[name] = source_read.cursor
        self.observed += source_read.observed
        if source_read.skips:
            self.skip(name, *source_read.skips)
        if not self.cluster.url:
            if source_read.reachable is not None:
                self.reachable = source_read.reachable
            self.jobs_seen = max(self.jobs_seen, source_read.jobs_seen)
        self.error = self.error or source_read.error

    def skip(self, source: str, *skips: Skip) -> None:
        self.observed.append(Observed(self.cluster.name, self.shard.at(), source, skips))
