"""Tests a store of logs: whether it has lines of this cluster now."""

import time

from ingest.cluster_run import ClusterRun
from ingest.log_stores.collector import SLICE_NS, ask
from ingest.log_stores.opening import client_of, store_of
from ingest.pushed.entries import Entry
from ingest.source_read import ProbeNotes
from ingest.wording import count_text

LINES = 100


async def probe(run: ClusterRun, notes: ProbeNotes) -> None:
    """Raises what ``ask`` raises."""
    if (source := run.cluster.log_store) is None:
        return
    store = store_of(source)
    resolution = store.resolution_ns
    now_ns = time.time_ns() // resolution * resolution
    async with run.asking(client_of(source, run.cluster.tls, run.shard.gates.of(source.url))) as client:
        page = await ask(client, store, now_ns - SLICE_NS, now_ns, LINES)
    entries = [found for _, found in page.lines if isinstance(found, Entry)]
    if not page.lines:
        notes.misses.append(f"{store.name}: it answers, but has no line of the last hour; is {source.query or source.index} right?")
    elif not entries:
        notes.misses.append(f"{store.name}: what it has of the last hour has no field with the text of a line")
    if not entries:
        return
    processes = sorted({entry.process for entry in entries})
    shown = ", ".join(processes[:3]) + ("…" if len(processes) > 3 else "")
    some = f"{len(entries)} or more lines" if len(page.lines) == LINES else count_text(len(entries), "line")
    notes.sees.append(f"{store.name}: {some} of the last hour, of {shown}")
