from collections.abc import Iterator
from dataclasses import replace

from ingest.messages import join_messages, message
from spark_jobs.diagnosis.regional_model import PROPOSED_LIMITS
from webapp.analyses.declaration import analysis
from webapp.analyses.document import (
    Advice,
    Block,
    Column,
    Document,
    Fact,
    Facts,
    Inputs,
    NotKnown,
    Table,
    Verdict,
)
from webapp.analyses.recovery.failover import LEAST_CHECKPOINTS, Failover, SpareSlots, failover
from webapp.analyses.recovery.job_restores import HISTORY, recent_outages
from webapp.fleet.models import JobCurrent
from webapp.lib.quantities import count_text, duration_text, percent_text

LOSSES_SHOWN, VERTICES_SHOWN = 10, 50


@analysis(
    "one-task-fails",
    title="If one task fails",
    summary="what restarts with it, and what regional checkpoints or restarting it alone would save",
    tab="checkpoints",
    in_report=True,
)
def one_task_fails(job: JobCurrent, inputs: Inputs) -> Document:
    outages = recent_outages(job, inputs.until)
    outcome = failover(job, inputs.until, inputs.until - HISTORY, outages)
    if outcome is None:
        reason = message(
            "What a failure restarts is not known: the plan of this job is not, or it is too large "
            "for a page."
        )
        return Document(Verdict("unknown", reason))
    return Document(_verdict(outcome), tuple(_blocks(outcome)))


def _verdict(outcome: Failover) -> Verdict:
    if outcome.restarts_all and outcome.by_plan > 1:
        return Verdict(
            "warn",
            message(
                "Any failure restarts all {tasks:count} tasks, by its scheduler or its failover "
                "strategy; by its plan they are {regions:count} regions.",
                tasks=outcome.tasks,
                regions=outcome.by_plan,
            ),
        )
    if outcome.regions == 1:
        restarts = message(
            "Any failure restarts all {tasks:count} tasks: all vertices exchange records with each "
            "other, directly or through others.",
            tasks=outcome.tasks,
        )
    else:
        restarts = message(
            "A failed subtask restarts {largest:count} of {tasks:count} tasks at most.",
            largest=outcome.largest,
            tasks=outcome.tasks,
        )
    return Verdict("ok", restarts)


def _blocks(outcome: Failover) -> Iterator[Block]:
    yield _facts(outcome)
    if outcome.spare:
        yield Advice((_spare(outcome.spare),))
    yield _vertices(outcome)
    yield _losses(outcome)
    yield from _regional(outcome)


def _facts(outcome: Failover) -> Facts:
    phases = outcome.phases
    return Facts(
        (
            Fact("tasks", "Tasks", outcome.tasks, "count"),
            Fact("regions", "Failover regions", outcome.regions, "count"),
            Fact("largest", "Tasks of the largest", outcome.largest, "count"),
            Fact("outages", "Outages of 30 days", phases.outages, "count"),
            Fact("downtime_ms", "Down in an outage", phases.downtime_ms, "ms", "median"),
            Fact(
                "alone_ms",
                "One task alone would be away",
                phases.alone_ms,
                "ms",
                "median of detection, deployment and restore; others run on and its records are lost",
            ),
        )
    )


def _spare(spare_slots: SpareSlots) -> str:
    slots = count_text(spare_slots.slots) if spare_slots.slots else message("enough")
    return message(
        "Spare slots: with {slots:name} free slots, those of one TaskManager, each loss would be "
        "over {saved:name} earlier. Outages with a lost TaskManager ({outages:count}) waited "
        "{waited:name}, where {usual:name} is usual.",
        slots=slots,
        saved=duration_text(spare_slots.saved_ms),
        outages=spare_slots.outages,
        waited=duration_text(spare_slots.lost_wait_ms),
        usual=duration_text(spare_slots.usual_ms),
    )


def _vertices(outcome: Failover) -> Table:
    return Table.of(
        outcome.vertices,
        "vertices",
        "Vertices",
        (
            Column("vertex", "Vertex", value="name"),
            Column("parallelism", "Subtasks", "count"),
            Column("regions", "Regions", "count"),
            Column("restarts", "Restart with one subtask", "count", "tasks, at most"),
            Column(
                "alone_records",
                "Records lost",
                "count",
                "if one of its subtasks came back alone, which Flink does not offer",
            ),
        ),
        most=VERTICES_SHOWN,
        note="Regions by pipelined exchanges of the plan.",
    )


def _losses(outcome: Failover) -> Table:
    hosts, managers = outcome.hosts[:LOSSES_SHOWN], outcome.taskmanagers[:LOSSES_SHOWN]
    table = Table.of(
        (*hosts, *managers),
        "losses",
        "What a loss restarts",
        (
            Column("host", "Host", "host"),
            Column(
                "taskmanager_id",
                "TaskManager",
                "mono",
                "none: the host as a whole",
                lambda loss: getattr(loss, "taskmanager_id", None),
            ),
            Column("tasks", "Tasks on it", "count"),
            Column("restarts", "Restart", "count"),
        ),
        subtitle="tasks now on it, and tasks that restart",
        empty="Where its subtasks run was not sampled.",
    )
    return replace(table, total=len(outcome.hosts) + len(outcome.taskmanagers))


def _regional(outcome: Failover) -> Iterator[Block]:
    checkpoints = outcome.checkpoints
    if checkpoints.at_least is None or outcome.by_plan == 1:
        yield NotKnown(_regional_sentence(outcome))
        return
    bound = message("with 95 % confidence, by how many checkpoints are known")
    yield Table.of(
        checkpoints.curve,
        "regional",
        "If checkpoints were regional",
        (
            Column("parallelism", "Parallelism", "count"),
            Column("tasks", "Tasks", "count"),
            Column("regions", "Regions", "count"),
            Column(
                "full",
                "Full",
                "share",
                "checkpoints that complete, at the rate at which its own tasks fail",
                value="shares.full",
            ),
            Column("full_at_least", "Full, at least", "share", bound, value="at_least.full"),
            Column("by_region", "By region", "share", value="shares.by_region"),
            Column(
                "by_region_at_least",
                "By region, at least",
                "share",
                bound,
                value="at_least.by_region",
            ),
            Column("is_now", "Now", "flag"),
        ),
        subtitle=message(
            "as FLIP-600 proposes: at most {share:share} of regions, {reuse:count} times in a row; "
            "no release of Flink has it",
            share=PROPOSED_LIMITS[0],
            reuse=PROPOSED_LIMITS[1],
        ),
        note=join_messages(
            (
                _regional_sentence(outcome),
                message(
                    "Tasks are taken to fail independently; vertices grow in proportion, those of "
                    "one subtask stay. Where a cause fails many tasks at once, as a lost "
                    "TaskManager, more fail together than this says."
                ),
            ),
            " ",
        ),
    )


def _regional_sentence(outcome: Failover) -> str:
    """How often tasks fail checkpoints, and what regional checkpoints gain at the current size."""
    checkpoints = outcome.checkpoints
    ended = checkpoints.completed + checkpoints.failed
    if checkpoints.at_least is None:
        return message(
            "How often its tasks fail a checkpoint is not known: {ended:name} checkpoints of the "
            "last days have ended, of at least {least_checkpoints:number} that this needs.",
            ended=count_text(ended),
            least_checkpoints=LEAST_CHECKPOINTS,
        )
    least = _rate_text(checkpoints.at_least)
    if checkpoints.task_success is None:
        return message(
            "None of its {ended:name} checkpoints failed: each task completed its part in "
            "{least:name} or more (95 % confidence).",
            ended=count_text(ended),
            least=least,
        )
    rate = message(
        "{failed:name} of its {ended:name} checkpoints failed, as if each task completed its part "
        "in {task_success:name} of them ({least:name} or more with 95 % confidence).",
        failed=count_text(checkpoints.failed),
        ended=count_text(ended),
        task_success=_rate_text(checkpoints.task_success),
        least=least,
    )
    current = next(point for point in checkpoints.curve if point.is_now)
    if current.shares is None or current.regions == 1:
        return message(
            "{rate:text} All its tasks are one region: a regional checkpoint is lost with any of "
            "them, as a full one is.",
            rate=rate,
        )
    return message(
        "{rate:text} By region {by_region:name} would complete instead of {full:name}.",
        rate=rate,
        by_region=percent_text(current.shares.by_region),
        full=percent_text(current.shares.full),
    )


def _rate_text(rate: float) -> str:
    return f"{rate * 100:.6g} %"
