import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from ingest.cluster_run import ClusterRun
from ingest.errors import IngestError, Skipped
from ingest.flink_rest.client import Gate, RestClient
from ingest.flink_rest.faults import BadAnswer, Unanswered
from ingest.json_members import as_list
from ingest.log_stores.elasticsearch import Elasticsearch
from ingest.log_stores.loki import Loki
from ingest.log_stores.pages import LAST_NS, NS_PER_MS, NS_PER_S, Line, Page, Store
from ingest.messages import message
from ingest.pushed.entries import Entry
from ingest.pushed.spool import Spool
from ingest.records import Skip
from ingest.source_read import SourceRead
from ingest.sources import ClusterSource, LogStoreSource, Tls

TIMEOUT_S = 20.0
MAX_ANSWER_BYTES = 32 * 1024 * 1024


def store_of(source: LogStoreSource) -> Store:
    match source.kind:
        case "loki":
            return Loki(source.query)
        case "opensearch":
            return Elasticsearch(source.index, source.query, "OpenSearch")
        case "elasticsearch":
            return Elasticsearch(source.index, source.query)


def client_of(source: LogStoreSource, tls: Tls, gate: Gate | None = None) -> RestClient:
    """Signs in with the store's credentials, never the cluster's."""
    return RestClient(
        source.url,
        auth=source.auth,
        tls=tls,
        request_timeout_s=TIMEOUT_S,
        max_response_bytes=MAX_ANSWER_BYTES,
        gate=gate,
        headers={"X-Scope-OrgID": source.tenant} if source.tenant else None,
        lenient=True,
    )


LATE_S = 120
"""Later lines are not read: shippers wait for seconds, indices refresh within 30 s."""
MOST_REPEATED = 20_000
"""Most lines read again to find late lines: the spool remembers ``REMEMBERED_LINES``."""


@dataclass(slots=True)
class Progress:
    """Lines from ``from_ns`` to ``to_ns`` were read. ``recent``: begin and number of new lines of
    the last cycles. ``of``: a digest of the store's settings.
    """

    of: str
    from_ns: int
    to_ns: int
    recent: list[tuple[int, int]] = field(default_factory=list)

    @classmethod
    def from_cursor(
        cls, document: Mapping[str, Any], source: LogStoreSource, now_ns: int
    ) -> "Progress":
        of, first_ns = digest(source), now_ns - round(source.backfill_s) * NS_PER_S
        match document:
            case {"of": str(stored), "from_ns": int(from_ns), "to_ns": int(to_ns)} if (
                stored == of and 0 <= from_ns <= min(to_ns, now_ns) <= LAST_NS
            ):
                pairs = filter(_is_pair, as_list(document.get("recent")))
                return cls(of, from_ns, to_ns, [(at, lines) for at, lines in pairs])
        return cls(of, first_ns, first_ns)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def begin_ns(self, now_ns: int) -> int:
        """Up to ``LATE_S`` before ``to_ns``, to find late lines, if there are few lines."""
        read_to = min(self.to_ns, now_ns)
        begin, repeated = read_to, 0
        for at, lines in reversed(self.recent):
            repeated += lines
            if repeated > MOST_REPEATED:
                break
            begin = min(begin, at)
        return max(begin, read_to - LATE_S * NS_PER_S, min(self.from_ns, read_to))

    def add_cycle(self, begun_ns: int, lines: int) -> None:
        oldest = self.to_ns - LATE_S * NS_PER_S
        cycles = [*self.recent, (begun_ns, lines)]
        # The last cycle that began before ``oldest`` may have lines after it.
        begins = [at for at, _ in cycles if at <= oldest]
        self.recent = [pair for pair in cycles if pair[0] >= max(begins, default=0)][-200:]


def digest(source: LogStoreSource) -> str:
    settings = "\0".join((source.kind, source.url, source.index, source.query, source.tenant))
    return sha256(settings.encode("utf-8", "replace")).hexdigest()[:16]


def _is_pair(pair: Any) -> bool:
    match pair:
        case [int(at), int(lines)]:
            return 0 <= at <= LAST_NS and lines >= 0
    return False


SOURCE = "log_store"
SLICE_NS = 3600 * NS_PER_S
MAX_REQUESTS = 100
MAX_LINES = 100_000
MAX_BYTES = 64 * 1024 * 1024
SHARD_BYTES = 512 * 1024 * 1024
LEAST_BYTES = 4 * 1024 * 1024
MAX_S = 15.0
MAX_SKIPS = 20
_UNREADABLE = frozenset({"too_large", "bad_json"})


@dataclass(frozen=True, slots=True)
class StoreRead:
    """Lines before ``read_to`` were read."""

    cursor: dict[str, Any]
    read_from: datetime
    read_to: datetime
    lines: int = 0
    skips: tuple[Skip, ...] = ()
    error: str | None = None


async def read_store(run: ClusterRun) -> SourceRead | None:
    """Without an answer, only a cluster without other sources is unreachable."""
    if (store := run.cluster.log_store) is None:
        return None
    share_bytes = min(
        MAX_BYTES,
        max(
            LEAST_BYTES, SHARD_BYTES // run.shard.count_clusters(lambda cluster: cluster.log_store)
        ),
    )
    async with run.count_requests(
        client_of(store, run.cluster.tls, run.shard.gates.of(store.url))
    ) as client:
        source_read = await read_lines(
            client,
            store,
            run.cursor_of(SOURCE),
            run.cursor_of("logs"),
            run.shard.at,
            max_bytes=share_bytes,
        )
    run.outcome["log_store"] = source_read
    if not _is_alone(run.cluster, store):
        return SourceRead((), source_read.cursor, source_read.skips)
    return SourceRead(
        (), source_read.cursor, source_read.skips, source_read.error is None, source_read.error
    )


def _is_alone(cluster: ClusterSource, store: LogStoreSource) -> bool:
    has_files = any(not glob.startswith(store.spool) for glob in cluster.logs.globs)
    return not (cluster.url or cluster.history_url or cluster.prometheus or has_files)


async def read_lines(
    client: RestClient,
    source: LogStoreSource,
    cursor: Mapping[str, Any],
    logs_cursor: Mapping[str, Any],
    at: Callable[[], datetime],
    *,
    max_bytes: int = MAX_BYTES,
    max_lines: int = MAX_LINES,
) -> StoreRead:
    now_ns = int(at().timestamp() * NS_PER_S)
    progress = Progress.from_cursor(cursor, source, now_ns)
    reading = _StoreReading(
        client, store_of(source), Spool(Path(source.spool)), progress, now_ns, max_bytes, max_lines
    )
    error: IngestError | None = None
    try:
        await asyncio.to_thread(reading.spool.make_room, logs_cursor, time.time())
        await reading.run()
    except IngestError as raised:
        error = raised
    begun_ns, progress.to_ns = progress.to_ns, max(reading.to_ns, min(progress.to_ns, now_ns))
    progress.add_cycle(begun_ns, reading.lines)
    return StoreRead(
        cursor=progress.to_json(),
        read_from=_instant(progress.from_ns),
        read_to=_instant(progress.to_ns),
        lines=reading.lines,
        skips=(
            *reading.skips,
            *([Skip(client.address.base, error.reason, str(error))] if error else []),
        ),
        error=str(error) if error else None,
    )


class _StoreReading:
    def __init__(
        self,
        client: RestClient,
        store: Store,
        spool: Spool,
        progress: Progress,
        now_ns: int,
        max_bytes: int,
        max_lines: int,
    ) -> None:
        self._client, self._store, self.spool = client, store, spool
        self._stored_ns, self._now_ns = progress.to_ns, now_ns
        self._limit, self._largest = store.usual_lines, store.most_lines
        self._bytes, self._max_lines = max_bytes, max_lines
        self._until_s = time.monotonic() + MAX_S
        self.lines = 0
        self._skipped = 0
        self.skips: list[Skip] = []
        self.to_ns = progress.begin_ns(now_ns)

    async def run(self) -> None:
        for _ in range(MAX_REQUESTS):
            if self.to_ns >= self._now_ns or self._is_exhausted():
                break
            await self._read_page()
        if self._skipped > MAX_SKIPS:
            self._skip(
                "more",
                f"{self._skipped - MAX_SKIPS:,} more records of {self._store.name} were skipped.",
            )

    def _is_exhausted(self) -> bool:
        return self._bytes <= 0 or self.lines >= self._max_lines or time.monotonic() > self._until_s

    async def _read_page(self) -> None:
        begin, end = self._slice()
        limit = self._limit
        page = await self._try_page(begin, end)
        if page is None:
            return
        lines = self._lines_within(page, begin, end)
        last_ns = max((at for at, _ in lines), default=begin)
        larger = self._store.most_lines if limit >= self._store.usual_lines else 10 * limit
        larger = min(larger, self._largest)
        if len(page.lines) < limit:
            await self._store_lines(lines)
            self._advance(min(end, self._now_ns))
        elif last_ns > begin:
            # The next page begins with the last instant, which may have more lines.
            await self._store_lines([line for line in lines if line[0] < last_ns])
            self._advance(last_ns)
        elif larger > limit:
            self._limit = larger
        else:
            await self._store_lines(lines)
            when = f"{_instant(begin):%F %T} UTC"
            self._skip(
                "over_budget",
                f"At {when} {limit:,} lines have the same instant; any further lines "
                "of it are skipped.",
            )
            self._advance(begin + self._store.resolution_ns)

    def _slice(self) -> tuple[int, int]:
        resolution = self._store.resolution_ns
        end = min(self.to_ns + SLICE_NS, self._now_ns)
        return self.to_ns // resolution * resolution, -(-end // resolution) * resolution

    def _advance(self, to_ns: int) -> None:
        self.to_ns = to_ns
        self._largest = self._store.most_lines
        self._limit = min(10 * self._limit, self._store.usual_lines)

    async def _try_page(self, begin: int, end: int) -> Page | None:
        """``None`` for an unreadable page: the next one is smaller, or a line was skipped."""
        try:
            return await self._page(begin, end, self._limit)
        except BadAnswer as error:
            if error.reason not in _UNREADABLE:
                raise
            if self._limit > 1:
                self._largest = self._limit - 1
                self._limit = max(1, self._limit // 10)
                return None
            # A request without lines: if it fails, too, the address is wrong, not a line.
            await self._page(self._now_ns + SLICE_NS, self._now_ns + SLICE_NS + NS_PER_S, 1)
            end_ns = await self._bad_line_end(begin, end)
            when = f"{_instant(end_ns):%F %T.%f}"[:-3]
            self._skip(
                error.reason,
                f"The line of {when} UTC cannot be read; it is skipped, with others "
                f"of this millisecond. {error}",
            )
            self._advance(end_ns)
            return None

    async def _bad_line_end(self, begin: int, end: int) -> int:
        while end - begin > NS_PER_MS:
            middle = (begin + end) // 2 // self._store.resolution_ns * self._store.resolution_ns
            try:
                await self._page(begin, middle, 1)
                begin = middle
            except BadAnswer as error:
                if error.reason not in _UNREADABLE:
                    raise
                end = middle
        return end

    async def _page(self, begin: int, end: int, limit: int) -> Page:
        return await ask(self._client, self._store, begin, end, limit)

    def _lines_within(self, page: Page, begin: int, end: int) -> list[Line]:
        inside = [line for line in page.lines if begin <= line[0] < end]
        if page.lines and not inside:
            raise Skipped(
                message(
                    "{name:name} returned no line of the requested time; does a proxy change "
                    "or repeat answers?",
                    name=self._store.name,
                )
            )
        outside = Skip(
            self._client.address.base, "bad_payload", "A line is not in the requested time."
        )
        for at, content in page.lines:
            if not begin <= at < end:
                self._note(content if isinstance(content, Skip) else outside)
        return inside

    async def _store_lines(self, lines: Sequence[Line]) -> None:
        entries = [entry for _, entry in lines if isinstance(entry, Entry)]
        self._bytes -= sum(
            len(entry.text)
            for at, entry in lines
            if isinstance(entry, Entry) and at >= self._stored_ns
        )
        self.lines += (await asyncio.to_thread(self.spool.take, entries)).lines
        for at, line in lines:
            if isinstance(line, Skip) and at >= self._stored_ns:  # else it was already noted
                self._note(line)

    def _note(self, skip: Skip) -> None:
        self._skipped += 1
        if self._skipped <= MAX_SKIPS:
            self.skips.append(skip)

    def _skip(self, reason: str, detail: str) -> None:
        self.skips.append(Skip(self._client.address.base, reason, detail))


async def ask(client: RestClient, store: Store, begin_ns: int, end_ns: int, limit: int) -> Page:
    try:
        return store.page(await client.get(store.path(begin_ns, end_ns, limit)))
    except BadAnswer as error:
        if error.status is not None and error.reason not in _UNREADABLE:
            reported = message(
                "It answered HTTP {status:number}. {advice:text}",
                status=error.status,
                advice=store.advice(error.status),
            ).strip()
        else:
            reported = _without_query(str(error))
        raise BadAnswer(
            message(
                "{name:name} at {base:name}: {reported:text}",
                name=store.name,
                base=client.address.base,
                reported=reported,
            ),
            error.reason,
            error.status,
        ) from error
    except Unanswered as error:
        reported = message(
            "{name:name} at {base:name}: {without_query:name}",
            name=store.name,
            base=client.address.base,
            without_query=_without_query(str(error)),
        )
        raise Unanswered(reported, error.reason, error.status) from error


def _without_query(text: str) -> str:
    return " ".join(word.partition("?")[0] for word in text.split(" "))


def _instant(ns: int) -> datetime:
    return datetime.fromtimestamp(ns / NS_PER_S, UTC)
