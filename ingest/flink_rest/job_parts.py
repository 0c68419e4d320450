"""The ``jobs`` row of a reading, put together from all answers about the job as a whole."""

from typing import Any

from ingest.flink_rest.answers import Answer, JobAnswers
from ingest.flink_rest.metric_names import JOB_METRICS
from ingest.flink_rest.parse_results import ParseResults
from ingest.flink_rest.payloads import checkpoints, config, jobs, metrics, plan
from ingest.records import Edge, Job, Setting, Vertex


def add_job(reading: JobAnswers, results: ParseResults) -> None:
    """One record where ``/jobs/:id`` or at least the overview answered; a bad part leaves its columns unknown."""
    found = _state(reading, results)
    if found is None:
        return
    answer, state = found
    vertices = _vertices(reading, results)
    results.add(
        answer,
        Job(
            job_id=reading.job_id,
            name=state.name,
            state=state.state,
            start_time=state.start_time,
            end_time=state.end_time,
            flink_version=reading.flink_version,
            job_type=state.job_type or _job_type(reading, results),
            parallelism=max((vertex.parallelism for vertex in vertices or () if vertex.parallelism), default=None),
            vertices=vertices,
            edges=_edges(reading, results),
            state_since=results.parse(jobs.state_since, reading.job) if reading.job else None,
            restarts=_restarts(reading, results),
            configuration=_configuration(reading, results),
            **_checkpointing(reading, results),
        ),
    )


def _state(reading: JobAnswers, results: ParseResults) -> tuple[Answer, jobs.JobState] | None:
    """A job that is listed but cannot be asked is still there, and one that is listed as ended has ended.

    The JobManager answers ``/jobs/:id`` out of a cache, so it may still say RUNNING when the overview knows better.
    """
    asked = results.parse(jobs.job_state, reading.job) if reading.job else None
    listed = results.parse(jobs.job_state, reading.overview) if reading.overview else None
    if reading.overview and listed and (asked is None or (listed.state in jobs.TERMINAL and asked.state not in jobs.TERMINAL)):
        return (reading.job if asked else None) or reading.overview, listed
    return (reading.job, asked) if reading.job and asked else None


def _vertices(reading: JobAnswers, results: ParseResults) -> tuple[Vertex, ...] | None:
    found = results.parse(plan.vertices, reading.job) if reading.job else None
    if not found and reading.plan:
        found = results.parse(plan.planned_vertices, reading.plan)
    return found


def _edges(reading: JobAnswers, results: ParseResults) -> tuple[Edge, ...] | None:
    answer = _plan_answer(reading)
    return results.parse(plan.edges, answer) if answer else None


def _job_type(reading: JobAnswers, results: ParseResults) -> str | None:
    answer = _plan_answer(reading)
    return results.parse(plan.job_type, answer) if answer else None


def _plan_answer(reading: JobAnswers) -> Answer | None:
    """``/jobs/:id`` holds the plan too, so ``/jobs/:id/plan`` is seldom needed."""
    if reading.job and isinstance(reading.job.body, dict) and reading.job.body.get("plan"):
        return reading.job
    return reading.plan


def _configuration(reading: JobAnswers, results: ParseResults) -> tuple[Setting, ...] | None:
    of_cluster = results.parse(config.cluster_settings, reading.jobmanager_config) if reading.jobmanager_config else None
    of_job = results.parse(config.job_settings, reading.config) if reading.config else None
    return None if of_cluster is None and of_job is None else (of_cluster or ()) + (of_job or ())


def _checkpointing(reading: JobAnswers, results: ParseResults) -> dict[str, Any]:
    settings = results.parse(config.checkpoint_settings, reading.checkpoint_config) if reading.checkpoint_config else None
    counts = results.parse(checkpoints.counts, reading.checkpoints) if reading.checkpoints else None
    restore = results.parse(checkpoints.restore, reading.checkpoints) if reading.checkpoints else None
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


def _restarts(reading: JobAnswers, results: ParseResults) -> int | None:
    found = results.parse(_metrics, reading.job_metrics) if reading.job_metrics else None
    restarts = (found or {}).get("restarts")
    return None if restarts is None else int(restarts)


def _metrics(body: Any) -> dict[str, metrics.Number | None]:
    return metrics.columns(metrics.values(body), JOB_METRICS)
