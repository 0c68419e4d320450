"""The ``jobs`` row of a reading, put together from all answers that tell of the job as a whole."""

from typing import Any

from ingest.flink_rest.findings import Findings
from ingest.flink_rest.metric_names import JOB_METRICS
from ingest.flink_rest.payloads import checkpoints, config, jobs, metrics, plan
from ingest.flink_rest.readings import Answer, JobReading
from ingest.records import Edge, Job, Setting, Vertex


def add_job(reading: JobReading, findings: Findings) -> None:
    """One record where ``/jobs/:id`` or at least the overview answered; a bad part leaves its columns unknown."""
    told = _state(reading, findings)
    if told is None:
        return
    answer, state = told
    vertices = _vertices(reading, findings)
    findings.add(
        answer,
        Job(
            job_id=reading.job_id,
            name=state.name,
            state=state.state,
            start_time=state.start_time,
            end_time=state.end_time,
            flink_version=reading.flink_version,
            job_type=state.job_type or _job_type(reading, findings),
            parallelism=max((vertex.parallelism for vertex in vertices or () if vertex.parallelism), default=None),
            vertices=vertices,
            edges=_edges(reading, findings),
            state_since=findings.parse(jobs.state_since, reading.job) if reading.job else None,
            restarts=_restarts(reading, findings),
            configuration=_configuration(reading, findings),
            **_checkpointing(reading, findings),
        ),
    )


def _state(reading: JobReading, findings: Findings) -> tuple[Answer, jobs.JobState] | None:
    """A job that is listed but cannot be asked is still there, and one that is listed as ended has ended.

    The JobManager answers ``/jobs/:id`` out of a cache, so it may still say RUNNING when the overview knows better.
    """
    asked = findings.parse(jobs.job_state, reading.job) if reading.job else None
    listed = findings.parse(jobs.job_state, reading.overview) if reading.overview else None
    if reading.overview and listed and (asked is None or (listed.state in jobs.TERMINAL and asked.state not in jobs.TERMINAL)):
        return (reading.job if asked else None) or reading.overview, listed
    return (reading.job, asked) if reading.job and asked else None


def _vertices(reading: JobReading, findings: Findings) -> tuple[Vertex, ...] | None:
    found = findings.parse(plan.vertices, reading.job) if reading.job else None
    if not found and reading.plan:
        found = findings.parse(plan.planned_vertices, reading.plan)
    return found


def _edges(reading: JobReading, findings: Findings) -> tuple[Edge, ...] | None:
    answer = _plan_answer(reading)
    return findings.parse(plan.edges, answer) if answer else None


def _job_type(reading: JobReading, findings: Findings) -> str | None:
    answer = _plan_answer(reading)
    return findings.parse(plan.job_type, answer) if answer else None


def _plan_answer(reading: JobReading) -> Answer | None:
    """``/jobs/:id`` holds the plan too, so ``/jobs/:id/plan`` is seldom needed."""
    if reading.job and isinstance(reading.job.body, dict) and reading.job.body.get("plan"):
        return reading.job
    return reading.plan


def _configuration(reading: JobReading, findings: Findings) -> tuple[Setting, ...] | None:
    of_cluster = findings.parse(config.cluster_settings, reading.jobmanager_config) if reading.jobmanager_config else None
    of_job = findings.parse(config.job_settings, reading.config) if reading.config else None
    return None if of_cluster is None and of_job is None else (of_cluster or ()) + (of_job or ())


def _checkpointing(reading: JobReading, findings: Findings) -> dict[str, Any]:
    settings = findings.parse(config.checkpoint_settings, reading.checkpoint_config) if reading.checkpoint_config else None
    counts = findings.parse(checkpoints.counts, reading.checkpoints) if reading.checkpoints else None
    restore = findings.parse(checkpoints.restore, reading.checkpoints) if reading.checkpoints else None
    counts, restore = counts or checkpoints.Counts(), restore or checkpoints.Restore()
    return {
        **(settings or {}),
        "checkpoints_total": counts.total,
        "checkpoints_completed": counts.completed,
        "checkpoints_failed": counts.failed,
        "checkpoints_in_progress": counts.in_progress,
        "checkpoints_restored": counts.restored,
        "restored_checkpoint_id": restore.checkpoint_id,
        "restored_at": restore.at,
        "restored_is_savepoint": restore.is_savepoint,
        "restored_path": restore.path,
    }


def _restarts(reading: JobReading, findings: Findings) -> int | None:
    found = findings.parse(_metrics, reading.job_metrics) if reading.job_metrics else None
    restarts = (found or {}).get("restarts")
    return None if restarts is None else int(restarts)


def _metrics(body: Any) -> dict[str, metrics.Number | None]:
    return metrics.columns(metrics.values(body), JOB_METRICS)
