"""Tests a store of logs: whether it has lines of this cluster now."""

from ingest.flink_rest.client import RestClient
from ingest.log_stores.collector import SLICE_NS, ask
from ingest.log_stores.opening import store_of
from ingest.pushed.entries import Entry
from ingest.sources import LogStoreSource
from ingest.wording import count_text

LINES = 100


async def probe_store(client: RestClient, source: LogStoreSource, now_ns: int) -> tuple[list[str], list[str]]:
    """Short sentences of what is seen and what is missing; raises what ``ask`` raises."""
    store = store_of(source)
    resolution = store.resolution_ns
    now_ns = now_ns // resolution * resolution
    page = await ask(client, store, now_ns - SLICE_NS, now_ns, LINES)
    entries = [found for _, found in page.lines if isinstance(found, Entry)]
    if not page.lines:
        return [], [f"{store.name}: it answers, but has no line of the last hour; is {source.query or source.index} right?"]
    if not entries:
        return [], [f"{store.name}: what it has of the last hour has no field with the text of a line"]
    processes = sorted({entry.process for entry in entries})
    shown = ", ".join(processes[:3]) + ("…" if len(processes) > 3 else "")
    some = f"{len(entries)} or more lines" if len(page.lines) == LINES else count_text(len(entries), "line")
    return [f"{store.name}: {some} of the last hour, of {shown}"], []
