from ingest.cluster_run import ClusterRun
from ingest.flink_rest.client import RestClient
from ingest.messages import message, plural
from ingest.prometheus.collector import prometheus_client, query_range
from ingest.prometheus.names import JOB_NAMES, TASK, reporter_name, selector
from ingest.source_read import ProbeNotes
from ingest.sources import PrometheusSource


async def probe(run: ClusterRun, notes: ProbeNotes) -> None:
    source, now_s = run.cluster.prometheus or PrometheusSource(""), int(run.shard.at().timestamp())
    async with prometheus_client(run, source) as client:
        jobs = await _labels(client, selector(JOB_NAMES, source.selector), now_s)
        tasks = await _labels(
            client, selector([reporter_name(TASK, "numRecordsIn")], source.selector), now_s
        )
    if not jobs:
        notes.misses.append(
            message(
                "Prometheus: no series of a JobManager; is Flink's Prometheus reporter on, and "
                "scraped, and is the selector right?"
            )
        )
    if not tasks:
        notes.misses.append(message("Prometheus: no series of tasks; are TaskManagers scraped?"))
    jobs_count = len({labels.get("job_id") for labels in jobs})
    if jobs or tasks:
        notes.sees.append(
            message(
                "Prometheus: {found:message}, {tasks:message}",
                found=plural(jobs_count, "{count:count} job", "{count:count} jobs"),
                tasks=plural(len(tasks), "{count:count} subtask", "{count:count} subtasks"),
            )
        )


async def _labels(client: RestClient, query: str, now_s: int) -> list[dict[str, str]]:
    return [dict(single.labels) for single in await query_range(client, query, now_s, now_s, 1)]
