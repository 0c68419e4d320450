import asyncio
import pkgutil
from datetime import UTC, datetime

from ingest.cluster_run import ClusterRun, Shard
from ingest.errors import IngestError
from ingest.flink_rest.client import Gates
from ingest.flink_rest.limits import RequestLimits
from ingest.messages import message
from ingest.source_declaration import Source
from ingest.source_read import ProbeNotes
from ingest.source_registry import sources
from ingest.sources import ClusterSource


def probe(source: ClusterSource, timeout_s: float = 30) -> ProbeNotes:
    """Ends within ``timeout_s``. Sources that fail or do not answer are in ``misses``."""
    return asyncio.run(_probe(source, timeout_s))


async def _probe(cluster: ClusterSource, timeout_s: float) -> ProbeNotes:
    notes = ProbeNotes()
    run = ClusterRun(
        cluster, {}, Shard(lambda: datetime.now(UTC), 0, RequestLimits(), gates=Gates(1))
    )
    probed_sources = [source for source in sources() if source.probe and source.applies(run)]
    # Concurrently: a source that hangs must not use up the time of the others.
    await asyncio.gather(
        *(_run_with_timeout(source, run, timeout_s, notes) for source in probed_sources)
    )
    if not probed_sources:
        notes.misses.append(
            message("No address, Prometheus or logs are given: Weir has nothing to read.")
        )
    return notes


async def _run_with_timeout(
    source: Source, run: ClusterRun, timeout_s: float, notes: ProbeNotes
) -> None:
    probe_function = pkgutil.resolve_name(source.probe)
    try:
        async with asyncio.timeout(timeout_s):
            await (
                asyncio.to_thread(probe_function, run, notes)
                if source.files
                else probe_function(run, notes)
            )
    except TimeoutError:
        notes.misses.append(
            message(
                "{subject:name} did not answer within {timeout_s:number} s.",
                subject=source.subject,
                timeout_s=timeout_s,
            )
        )
    except IngestError as error:
        notes.misses.append(str(error))
