"""``/applications`` of Flink 2.3 and later (FLIP-549): exceptions of a ``main`` that failed before it
had submitted a job, as records of a log that a pattern reads. ``/jobs`` shows nothing of it.
"""

from contextlib import suppress
from datetime import datetime

from ingest.cluster_run import ClusterRun
from ingest.errors import Skipped
from ingest.event_records import MAX_AHEAD_MS, log_record, read_of
from ingest.flink_ids import is_flink_id
from ingest.flink_rest.limits import Budget, RequestLimits
from ingest.flink_rest.payloads.fields import Fields
from ingest.flink_rest.session import RestSession
from ingest.json_members import as_list, object_list
from ingest.records import LogRecord
from ingest.source_read import SourceRead
from ingest.traces import shortened

SOURCE = "applications"
PROCESS, LOGGER = "jobmanager-rest", "org.apache.flink.runtime.application"
MOST_READ, MOST_EXCEPTIONS = 10, 10
TRACE_CHARS = 16_384


async def read_applications(run: ClusterRun) -> SourceRead:
    """The exceptions of each application that failed without a job, once."""
    read_ids = {text for text in as_list(run.cursor_of(SOURCE).get("read")) if is_flink_id(text)}
    records: list[LogRecord] = []
    async with run.client(run.cluster.url) as client:
        session = RestSession(client, run.shard.at, Budget(RequestLimits().requests))
        overview = await session.get("/applications/overview")
        if overview is None:
            return SourceRead((), {"read": sorted(read_ids)}, tuple(session.skips))
        failed = {
            id: str(entry.get("name") or id)
            for entry in object_list(overview.body, "applications")
            if is_flink_id(id := entry.get("id"))
            and entry.get("status") == "FAILED"
            and not entry.get("jobs")
        }
        read_ids &= failed.keys()
        for id in sorted(failed.keys() - read_ids)[:MOST_READ]:
            answer = await session.get(f"/applications/{id}/exceptions", may_be_gone=True)
            if answer is not None:
                read_ids.add(id)
                with suppress(Skipped):
                    records += _records(id, failed[id], answer.body, run.shard.at())
    cursor = {"read": sorted(read_ids)}
    return read_of(run, SOURCE, run.shard.at(), records, cursor, tuple(session.skips))


def _records(id: str, name: str, body: object, at: datetime) -> list[LogRecord]:
    history, records = Fields(body).required_object("exceptionHistory"), []
    for place, entry in history.items("entries")[:MOST_EXCEPTIONS]:
        fields = Fields(entry, place)
        at_ms = round(fields.required_instant("timestamp").timestamp() * 1000)
        trace = fields.trace("stacktrace") or fields.text("exceptionName") or ""
        if at_ms > at.timestamp() * 1000 + MAX_AHEAD_MS:
            continue
        one_line = " ".join(name.split())[:200]
        text = f"Flink application {id} failed without a job ({one_line})."
        message = f"{text}\n{shortened(trace, TRACE_CHARS)}"
        records.append(log_record(PROCESS, at_ms, "ERROR", LOGGER, message, SOURCE))
    return records
