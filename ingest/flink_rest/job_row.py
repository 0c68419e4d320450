"""The ``jobs`` row of a reading, put together from all answers about the job as a whole."""

from typing import Any

from ingest.flink_rest.answers import Answer, JobAnswers
from ingest.flink_rest.metric_names import JOB_METRICS
from ingest.flink_rest.parse_results import ParseResults
from ingest.flink_rest.payloads import checkpoints, config, jobs, metrics, plan
from ingest.records import Job, Setting


def add_job(reading: JobAnswers, results: ParseResults) -> None:
    """One record where ``/jobs/:id`` or at least the overview answered; a bad part leaves its
    columns unknown.
    """
    state_and_graph = _state(reading, results)
    if state_and_graph is None:
        return
    answer, state = state_and_graph
    vertices = results.parse(plan.vertices, reading.job) or results.parse(
        plan.planned_vertices, reading.plan
    )
    graph_answer = plan_answer(reading)
    results.add(
        answer,
        Job(
            job_id=reading.job_id,
            name=state.name,
            state=state.state,
            start_time=state.start_time,
            end_time=state.end_time,
            flink_version=reading.flink_version,
            job_type=state.job_type or results.parse(plan.job_type, graph_answer),
            parallelism=max(
                (vertex.parallelism for vertex in vertices or () if vertex.parallelism),
                default=None,
            ),
            vertices=vertices,
            edges=results.parse(plan.edges, graph_answer),
            slot_sharing=results.parse(plan.slot_sharing, reading.job),
            state_since=results.parse(jobs.state_since, reading.job),
            restarts=_restarts(reading, results),
            configuration=_configuration(reading, results),
            **_checkpointing(reading, results),
        ),
    )


def _state(reading: JobAnswers, results: ParseResults) -> tuple[Answer, jobs.JobState] | None:
    """A job that is listed but does not answer is still there."""
    answered = results.parse(jobs.job_state, reading.job)
    listed = results.parse(jobs.job_state, reading.overview)
    if (
        reading.overview
        and listed
        and (
            answered is None
            or (listed.state in jobs.TERMINAL and answered.state not in jobs.TERMINAL)
        )
    ):
        return (reading.job if answered else None) or reading.overview, listed
    return (reading.job, answered) if reading.job and answered else None


def plan_answer(reading: JobAnswers) -> Answer | None:
    """``/jobs/:id`` holds the plan too, so ``/jobs/:id/plan`` is seldom needed."""
    return reading.job if reading.job and plan.is_in(reading.job.body) else reading.plan


def _configuration(reading: JobAnswers, results: ParseResults) -> tuple[Setting, ...] | None:
    of_cluster = results.parse(config.cluster_settings, reading.jobmanager_config)
    of_job = results.parse(config.job_settings, reading.config)
    return None if of_cluster is None and of_job is None else (of_cluster or ()) + (of_job or ())


def _checkpointing(reading: JobAnswers, results: ParseResults) -> dict[str, Any]:
    return {
        **(results.parse(config.checkpoint_settings, reading.checkpoint_config) or {}),
        **(results.parse(config.no_checkpoints, reading.checkpoint_config) or {}),
        **(results.parse(checkpoints.counts, reading.checkpoints) or {}),
        **(results.parse(checkpoints.restore, reading.checkpoints) or {}),
    }


def _restarts(reading: JobAnswers, results: ParseResults) -> int | None:
    columns = results.parse(
        lambda body: metrics.columns(metrics.values(body), JOB_METRICS), reading.job_metrics
    )
    restarts = (columns or {}).get("restarts")
    return None if restarts is None else int(restarts)
