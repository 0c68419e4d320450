import asyncio
from datetime import datetime, timedelta
from typing import Any

from ingest.cluster_run import ClusterRun
from ingest.errors import IngestError
from ingest.flink_ids import is_flink_id
from ingest.flink_logs.endpoint import listed_logs
from ingest.flink_logs.layouts import layout_of, zone_of
from ingest.flink_rest.client import RestClient
from ingest.flink_rest.faults import BadAnswer
from ingest.flink_rest.metric_names import names_for, subtask_paths
from ingest.flink_rest.payloads.fields import clean_text
from ingest.flink_rest.payloads.jobs import TERMINAL, state_in
from ingest.flink_rest.versions import has_time_metrics, is_known, is_version
from ingest.json_members import member, object_list
from ingest.messages import message, plural
from ingest.source_read import ProbeNotes
from ingest.sources import LogSource

GATHERING_PAUSE_S = 2


async def probe_jobmanager(run: ClusterRun, notes: ProbeNotes) -> None:
    logs = run.cluster.logs
    async with run.client(run.cluster.url) as client:
        overview = await client.get("/overview")
        version = member(overview, "flink-version")
        if not is_version(version):  # not a JobManager: its text is not shown
            notes.misses.append(
                message(
                    "{base:name} answers, but not like a Flink JobManager.",
                    base=client.address.base,
                )
            )
            return
        notes.flink_version = version
        _note_version(notes)
        config = await _answer_or_miss(client, "/config", "time zone", notes)
        _compare_zones(config, logs, notes)
        jobs = _jobs(await client.get("/jobs/overview"))
        running = [job_id for job_id, state in jobs if state not in TERMINAL]
        notes.sees.append(
            message(
                "jobs: {running:number} running, {jobs:number} ended",
                running=len(running),
                jobs=len(jobs) - len(running),
            )
        )
        if running:
            await _probe_job(client, running[0], notes)
        else:
            notes.misses.append(
                message("checkpoints and metrics cannot be tested while no job runs")
            )
        if not logs.globs:
            await _probe_log_endpoint(client, notes)


def _note_version(notes: ProbeNotes) -> None:
    notes.sees.append(
        message("REST of Flink {flink_version:name}", flink_version=str(notes.flink_version))
    )
    if not is_known(notes.flink_version):
        notes.misses.append(
            message(
                "Flink {flink_version:name} is not one of the known releases 1.12 to 2.3; "
                "Weir reads what it understands",
                flink_version=str(notes.flink_version),
            )
        )
    elif not has_time_metrics(notes.flink_version):
        notes.misses.append(
            message("busy time and incremental checkpoint sizes: this release does not report them")
        )


def _compare_zones(config: Any, logs: LogSource, notes: ProbeNotes) -> None:
    offset_ms = member(config, "timezone-offset")
    try:
        declared = datetime.now(zone_of(logs.time_zone, layout_of(logs.layout))).utcoffset()
    except IngestError as error:
        notes.misses.append(message("logs: {error:text}", error=str(error)))
        return
    if (
        not isinstance(offset_ms, int)
        or declared is None
        or timedelta(milliseconds=offset_ms) == declared
    ):
        return
    name = clean_text(str(config.get("timezone-name")), 60)
    hours = offset_ms / 3_600_000
    notes.misses.append(
        message(
            "logs: the JobManager runs in {name:name} (UTC{hours:name} h), its logs are declared "
            "as {time_zone:name}",
            name=str(name),
            hours=f"{hours:+g}",
            time_zone=logs.time_zone,
        )
    )


async def _probe_job(client: RestClient, job_id: str, notes: ProbeNotes) -> None:
    checkpoints = await _answer_or_miss(client, f"/jobs/{job_id}/checkpoints", "checkpoints", notes)
    total = member(member(checkpoints, "counts"), "total")
    if isinstance(total, int) and total:
        notes.sees.append(
            message("checkpoints: {total:number} of the first running job", total=total)
        )
    elif total == 0:
        notes.misses.append(message("no checkpoint yet: checkpointing may be off"))
    job = await _answer_or_miss(client, f"/jobs/{job_id}", "job graph", notes)
    vertex_id = next((vertex.get("id") for vertex in object_list(job, "vertices")), None)
    if not is_flink_id(vertex_id):
        return
    (path,) = subtask_paths(
        f"/jobs/{job_id}/vertices/{vertex_id}", [0], names_for(notes.flink_version)
    )
    metrics = await _answer_or_miss(client, path, "metrics", notes)
    if metrics == []:
        await asyncio.sleep(GATHERING_PAUSE_S)
        metrics = await _answer_or_miss(client, path, "metrics", notes)
    if isinstance(metrics, list) and metrics:
        notes.sees.append(
            message("buffer and time metrics: {metrics:number} per subtask", metrics=len(metrics))
        )
    elif metrics is not None:
        notes.misses.append(
            message("metrics are empty; Flink may still be gathering them, try again in a minute")
        )


async def _answer_or_miss(client: RestClient, path: str, what: str, notes: ProbeNotes) -> Any:
    try:
        return await client.get(path)
    except IngestError as error:
        notes.misses.append(f"{what}: {error}")
        return None


async def _probe_log_endpoint(client: RestClient, notes: ProbeNotes) -> None:
    try:
        has_logs = bool(listed_logs(await client.get("/jobmanager/logs")))
    except BadAnswer:
        has_logs = False
    if has_logs:
        notes.sees.append(message("log files that the JobManager serves"))
        notes.misses.append(
            message("TaskManager logs, and log lines as they are written: give log globs for these")
        )
    else:
        notes.misses.append(message("the JobManager serves no log files; give log globs"))


async def probe_history_server(run: ClusterRun, notes: ProbeNotes) -> None:
    async with run.client(run.cluster.history_url) as client:
        jobs = _jobs(await client.get("/jobs/overview"))
        notes.sees.append(
            message(
                "History Server: {jobs:message}",
                jobs=plural(len(jobs), "{count:count} ended job", "{count:count} ended jobs"),
            )
        )


def _jobs(body: Any) -> list[tuple[str, str]]:
    return [
        (entry["jid"], state_in(entry))
        for entry in object_list(body, "jobs")
        if is_flink_id(entry.get("jid"))
    ]
