import time

from ingest.cluster_run import ClusterRun
from ingest.log_stores.collector import SLICE_NS, ask, client_of, store_of
from ingest.messages import message
from ingest.pushed.entries import Entry
from ingest.source_read import ProbeNotes

LINES = 100


async def probe(run: ClusterRun, notes: ProbeNotes) -> None:
    if (source := run.cluster.log_store) is None:
        return
    store = store_of(source)
    resolution = store.resolution_ns
    now_ns = time.time_ns() // resolution * resolution
    async with run.count_requests(
        client_of(source, run.cluster.tls, run.shard.gates.of(source.url))
    ) as client:
        page = await ask(client, store, now_ns - SLICE_NS, now_ns, LINES)
    if not page.lines:
        notes.misses.append(
            message(
                "{name:name}: it answers, but has no line of the last hour; is {query:name} right?",
                name=store.name,
                query=source.query or source.index,
            )
        )
    elif not any(isinstance(entry, Entry) for _, entry in page.lines):
        notes.misses.append(
            message(
                "{name:name}: what it has of the last hour has no field with the text of a line",
                name=store.name,
            )
        )
    else:
        notes.sees.append(message("{name:name}: lines of the last hour", name=store.name))
