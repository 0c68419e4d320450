"""Tries a connection: what Weir would see of a cluster, and what it would miss, in plain words. Nothing is stored."""

import asyncio
import re
from collections.abc import Awaitable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from ingest.errors import IngestError
from ingest.flink_ids import is_flink_id
from ingest.flink_logs.endpoint import listed_logs
from ingest.flink_logs.layouts import layout_of, zone_of
from ingest.flink_logs.probe import look_at_logs
from ingest.flink_rest.client import RestClient, client_of
from ingest.flink_rest.faults import BadAnswer
from ingest.flink_rest.gate import Gate
from ingest.flink_rest.job_reader import TERMINAL_STATES
from ingest.flink_rest.metric_requests import names_for, subtask_paths
from ingest.flink_rest.payloads.fields import clean_text
from ingest.flink_rest.payloads.jobs import state_in
from ingest.flink_rest.versions import MAX_VERSION_CHARS, has_time_metrics, is_known
from ingest.history.listing import ArchiveDirectory
from ingest.sources import ClusterSource, LogSource

_A_VERSION = re.compile(rf"\d{{1,4}}\.\d{{1,4}}[\w.+-]{{0,{MAX_VERSION_CHARS - 10}}}", re.ASCII)
"""What says anything else is no JobManager, and what it says is not repeated."""
GATHERING_PAUSE_S = 2
"""Flink gathers metrics only once somebody has asked for them."""


@dataclass(frozen=True, slots=True)
class Probe:
    """``sees`` and ``misses`` are short sentences. ``reachable``: at least one source could be read."""

    reachable: bool
    sees: tuple[str, ...]
    misses: tuple[str, ...]
    flink_version: str | None = None
    jobs: int | None = None
    taskmanagers: int | None = None


def probe(source: ClusterSource, timeout_s: float = 30) -> Probe:
    """Ask a little of every source that is declared; ends in ``timeout_s`` and never raises for what a source answers."""
    return asyncio.run(_probe(source, timeout_s))


@dataclass(slots=True)
class _Sight:
    sees: list[str] = field(default_factory=list)
    misses: list[str] = field(default_factory=list)
    flink_version: str | None = None
    jobs: int | None = None
    taskmanagers: int | None = None


async def _probe(source: ClusterSource, timeout_s: float) -> Probe:
    sight = _Sight()
    parts: list[tuple[str, Awaitable[None]]] = []
    if source.url:
        parts.append(("The JobManager", _look_at_rest(source, sight)))
    if source.history_url:
        parts.append(("The History Server", _look_at_history(source, sight)))
    if source.archive_dir:
        parts.append(("The archive directory", asyncio.to_thread(_look_at_archive, source.archive_dir, sight)))
    if source.logs.globs:
        parts.append(("The log storage", asyncio.to_thread(_look_at_logs, source, sight)))
    # Together: a source that hangs must not eat the time of those that answer.
    await asyncio.gather(*(_bounded(subject, part, timeout_s, sight) for subject, part in parts))
    if not parts:
        sight.misses.append("Neither an address nor logs nor archives are given: there is nothing to see.")
    return Probe(bool(sight.sees), tuple(sight.sees), tuple(sight.misses), sight.flink_version, sight.jobs, sight.taskmanagers)


async def _bounded(subject: str, part: Awaitable[None], timeout_s: float, sight: _Sight) -> None:
    try:
        async with asyncio.timeout(timeout_s):
            await part
    except TimeoutError:
        sight.misses.append(f"{subject} did not answer within {timeout_s:g} s.")
    except IngestError as error:
        sight.misses.append(str(error))


async def _look_at_rest(source: ClusterSource, sight: _Sight) -> None:
    async with client_of(source, source.url, Gate(same_path_pause_s=1)) as client:
        overview = await client.get("/overview")
        version = overview.get("flink-version") if isinstance(overview, dict) else None
        if not isinstance(version, str) or not _A_VERSION.fullmatch(version):
            sight.misses.append(f"{client.address.base} answers, but not as a Flink JobManager does.")
            return
        sight.flink_version = version
        managers = overview.get("taskmanagers")
        sight.taskmanagers = managers if isinstance(managers, int) else None
        _say_version(sight)
        if source.logs.globs or source.logs.endpoint:
            _compare_zones(await _answer_or_miss(client, "/config", "time zone", sight), source.logs, sight)
        jobs = _jobs(await client.get("/jobs/overview"))
        sight.jobs = len(jobs)
        running = [job_id for job_id, state in jobs if state not in TERMINAL_STATES]
        sight.sees.append(f"jobs: {len(running)} running, {len(jobs) - len(running)} ended")
        if running:
            await _look_at_job(client, running[0], sight)
        else:
            sight.misses.append("checkpoints and metrics cannot be tested while no job runs")
        if not source.logs.globs:
            await _look_at_log_endpoint(client, source.logs, sight)


def _say_version(sight: _Sight) -> None:
    sight.sees.append(f"REST of Flink {sight.flink_version}, {sight.taskmanagers} TaskManager(s)")
    if not is_known(sight.flink_version):
        sight.misses.append(f"Flink {sight.flink_version} is not one of the known releases 1.12 to 2.3; it is read as far as understood")
    elif not has_time_metrics(sight.flink_version):
        sight.misses.append("busy time and incremental checkpoint sizes: this release does not report them")


def _compare_zones(config: Any, logs: LogSource, sight: _Sight) -> None:
    """Log lines carry no zone, but the JobManager tells the offset of its own process, which is that of its log."""
    offset_ms = config.get("timezone-offset") if isinstance(config, dict) else None
    try:
        declared = datetime.now(zone_of(logs.time_zone, layout_of(logs.layout))).utcoffset()
    except IngestError as error:
        sight.misses.append(f"logs: {error}")
        return
    if not isinstance(offset_ms, int) or declared is None or timedelta(milliseconds=offset_ms) == declared:
        return
    name = clean_text(str(config.get("timezone-name")), 60)
    hours = offset_ms / 3_600_000
    sight.misses.append(f"logs: the JobManager runs in {name} (UTC{hours:+g} h), its logs are declared as {logs.time_zone}")


async def _look_at_job(client: RestClient, job_id: str, sight: _Sight) -> None:
    """One running job stands for all."""
    checkpoints = await _answer_or_miss(client, f"/jobs/{job_id}/checkpoints", "checkpoints", sight)
    counts = checkpoints.get("counts") if isinstance(checkpoints, dict) else None
    if isinstance(counts, dict):
        total, failed = counts.get("total"), counts.get("failed")
        if isinstance(total, int) and isinstance(failed, int):
            sight.sees.append(f"checkpoints: {total} of the first running job, {failed} of them failed")
        if not total:
            sight.misses.append("no checkpoint yet: checkpointing may be off")
    job = await _answer_or_miss(client, f"/jobs/{job_id}", "job graph", sight)
    vertices = job.get("vertices") if isinstance(job, dict) else None
    vertex_id = vertices[0].get("id") if isinstance(vertices, list) and vertices and isinstance(vertices[0], dict) else None
    if not is_flink_id(vertex_id):
        return
    (path,) = subtask_paths(f"/jobs/{job_id}/vertices/{vertex_id}", [0], names_for(sight.flink_version))
    metrics = await _answer_or_miss(client, path, "metrics", sight)
    if metrics == []:
        await asyncio.sleep(GATHERING_PAUSE_S)
        metrics = await _answer_or_miss(client, path, "metrics", sight)
    if isinstance(metrics, list) and metrics:
        sight.sees.append(f"buffer and time metrics: {len(metrics)} per subtask")
    elif metrics is not None:
        sight.misses.append("metrics are empty; Flink may still be gathering them, try again in a minute")


async def _answer_or_miss(client: RestClient, path: str, what: str, sight: _Sight) -> Any:
    try:
        return await client.get(path)
    except IngestError as error:
        sight.misses.append(f"{what}: {error}")
        return None


async def _look_at_log_endpoint(client: RestClient, logs: LogSource, sight: _Sight) -> None:
    if not logs.endpoint:
        sight.misses.append("logs: no glob is given and the log endpoint is turned off")
        return
    try:
        found = listed_logs(await client.get("/jobmanager/logs"))
    except BadAnswer as error:
        found, why = [], f": {error}" if error.reason != "not_found" else ""
        sight.misses.append(f"the JobManager serves no log files{why}")
        return
    if found:
        names = ", ".join(file.name for file in found[:3])
        sight.sees.append(f"log endpoint: {len(found)} file(s), {names}")
        sight.misses.append("TaskManager logs, and log lines as they are written: give log globs for these")
    else:
        sight.misses.append("the JobManager serves no log files; give log globs")


async def _look_at_history(source: ClusterSource, sight: _Sight) -> None:
    async with client_of(source, source.history_url, Gate(same_path_pause_s=1)) as client:
        jobs = _jobs(await client.get("/jobs/overview"))
        sight.sees.append(f"History Server: {len(jobs)} ended job(s)")


def _look_at_archive(directory: str, sight: _Sight) -> None:
    files = ArchiveDirectory(directory).files()
    sight.sees.append(f"archive directory: {len(files)} archived job(s)")


def _look_at_logs(source: ClusterSource, sight: _Sight) -> None:
    found = look_at_logs(source.logs, datetime.now(UTC))
    sight.sees += found.sees
    sight.misses += found.misses


def _jobs(body: Any) -> list[tuple[str, str]]:
    entries = body.get("jobs") if isinstance(body, dict) else None
    found = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return [(entry["jid"], state_in(entry)) for entry in found if is_flink_id(entry.get("jid"))]
