"""Barriers arrive late: checkpoints wait for them longer than they take for everything else."""

from collections.abc import Iterator

from ingest.messages import brief, join_messages, list_text, message
from spark_jobs.diagnosis.barrier_holders import Holder, pressure_is_known
from spark_jobs.diagnosis.findings import Finding
from spark_jobs.diagnosis.late_sources import late_source
from spark_jobs.diagnosis.phases import (
    HOLD_S,
    PhaseCost,
    cost_of,
    holder_of,
    phase_finding,
    phase_ms,
    phase_thresholds,
)
from spark_jobs.diagnosis.rule import rule
from spark_jobs.diagnosis.samples import JobWindow
from spark_jobs.diagnosis.thresholds import Limits

RULE = "checkpoint.start_delay"


@rule(
    RULE,
    message("Slow barriers"),
    message("The time until the barrier arrives dominates the checkpoints' duration."),
    fed_by="windows/1.20.5-B",
    hold_s=HOLD_S,
    thresholds=phase_thresholds(
        RULE,
        "start_delay",
        5_000,
        message(
            "A barrier crosses a flowing job within milliseconds; seconds mean that it waits "
            "behind records or for a busy task thread."
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    cost = cost_of(window, RULE, "start_delay", limits)
    if cost:
        holder, newest = holder_of(cost), cost.slow[-1]
        # Where its output is back-pressured, that is why its thread is busy.
        source = (
            None
            if holder
            else late_source(
                window, newest, phase_ms(newest, "start_delay"), limits[f"{RULE}.dominates"]
            )
        )
        cause = source.cause if source else _cause(window, holder, cost)
        next_step = source.next_step if source else _next_step(window, holder)
        evidence, known = ((source.evidence,), source.as_data()) if source else ((), None)
        yield phase_finding(cost, cause, next_step, evidence, source=known)


def _cause(window: JobWindow, holder: Holder | None, cost: PhaseCost) -> str:
    if holder:
        held = list_text(brief(window.vertex_name(vertex_id)) for vertex_id in holder.held)
        return message(
            "Back-pressure holds the barriers: they are queued behind records, and the buffers "
            "from {held:name} on are full because {brief:name} processes the records too slowly.",
            held=held,
            brief=holder.brief,
        )
    slowest = cost.slow[-1].slowest_vertex_name
    where = message(" of {slowest:name}", slowest=brief(slowest)) if slowest else ""
    if pressure_is_known(window):
        return message(
            "No origin of back-pressure was observed, so a busy task thread{where:message} is "
            "likely: it answers only between two records.",
            where=where,
        )
    return message(
        "The barrier waits behind records, or the task thread{where:message} is busy; which, is "
        "not known: no pressure was measured.",
        where=where,
    )


def _next_step(window: JobWindow, holder: Holder | None) -> str:
    if holder:
        relieve = message(
            "Relieve {brief:name} (see its pressure finding): its parallelism, its slow "
            "calls, its hot keys.",
            brief=holder.brief,
        )
        lacking = {
            (False, False): message(
                "Until then, unaligned checkpoints (execution.checkpointing.unaligned) or buffer "
                "debloating let barriers pass."
            ),
            (False, True): message(
                "Until then, unaligned checkpoints (execution.checkpointing.unaligned) let "
                "barriers pass."
            ),
            (True, False): message("Until then, buffer debloating lets barriers pass."),
        }
        pass_barriers = lacking.get((bool(window.config.unaligned), window.debloats))
        return join_messages((relieve, pass_barriers), " ") if pass_barriers else relieve
    return message(
        "Take a thread dump or flame graph of the slowest subtask: long timers, flatMaps that emit "
        "much, or blocking calls."
    )
