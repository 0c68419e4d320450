from collections.abc import Iterator

from ingest.messages import join_messages, message
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
from webapp.analyses.placement.job_placement import (
    BALANCED,
    DEFAULT,
    NOW,
    JobPlacement,
    look_up_placement,
)
from webapp.fleet.models import JobCurrent

LABELS = {
    NOW: message("Observed"),
    DEFAULT: message("Flink's default"),
    BALANCED: message("Balanced tasks"),
}
EVEN = 1.1
"""Largest load ÷ mean of an even placement; balancing pays if it divides the load by this."""
BUFFERS_NEEDED = message("network buffers without which tasks fail, where most are needed")
NO_PLAN = message("The plan of this job is not known")
PLAN_COMES = message("It is read with the first answer of its cluster.")


@analysis(
    "placement",
    title="Placement",
    summary="where its tasks run, how evenly, and what Flink's rules would make of it",
    tab="runtime",
    in_report=True,
    is_slow=True,
)
def placement(job: JobCurrent, inputs: Inputs) -> Document:
    job_placement = look_up_placement(job, inputs.until)
    if job_placement is None:
        return Document(Verdict("unknown", NO_PLAN), (NotKnown(PLAN_COMES),))
    blocks: list[Block] = [
        *([NotKnown(join_messages(job_placement.unknown, " "))] if job_placement.unknown else []),
        _outcomes(job_placement),
        *_advice(job_placement),
        _facts(job_placement),
    ]
    if job_placement.taskmanagers:
        blocks += [_taskmanagers(job_placement), _vertices(job_placement)]
    return Document(_verdict(job_placement), tuple(blocks))


def _verdict(placement: JobPlacement) -> Verdict:
    now, balanced = placement.outcome(NOW), placement.outcome(BALANCED)
    short = [taskmanager for taskmanager in placement.taskmanagers if taskmanager.short_by]
    if short:
        return Verdict(
            "warn",
            message(
                "{short:count} of {taskmanagers:count} TaskManagers have fewer network buffers than "
                "the tasks on them need at least: {taskmanager_id:name} lacks {short_by:count}. Tasks "
                "there fail with “Insufficient number of network buffers”.",
                short=len(short),
                taskmanagers=len(placement.taskmanagers),
                taskmanager_id=short[0].taskmanager_id,
                short_by=short[0].short_by,
            ),
        )
    if now is None or now.max_over_mean is None or balanced is None:
        return Verdict(
            "unknown",
            "How even its tasks are spread now is not known; below is what its plan alone allows.",
        )
    ratio = now.max_over_mean
    if len(now.tasks) < 2:
        return Verdict("ok", "All tasks run on one TaskManager: there is nothing to spread.")
    if ratio <= EVEN:
        return Verdict(
            "ok",
            message(
                "Even: the fullest TaskManager has {tasks:count} tasks, {ratio:decimal2} times the "
                "mean.",
                tasks=now.tasks[0],
                ratio=ratio,
            ),
        )
    is_better = _is_worth_balancing(placement)
    consequence = (
        message("Balanced tasks would bring it to {ratio:decimal2}.", ratio=balanced.max_over_mean)
        if is_better and balanced.max_over_mean is not None
        else message("Balancing tasks would not make it more even.")
    )
    return Verdict(
        "warn" if is_better else "ok",
        message(
            "The fullest TaskManager has {tasks:count} of {all_tasks:count} tasks, {ratio:decimal2} "
            "times the mean. {rest:message}",
            tasks=now.tasks[0],
            all_tasks=sum(now.tasks),
            ratio=ratio,
            rest=consequence,
        ),
    )


def _is_worth_balancing(placement: JobPlacement) -> bool:
    now = placement.outcome(NOW) or placement.outcome(DEFAULT)
    balanced = placement.outcome(BALANCED)
    if not now or not balanced or now.max_over_mean is None or balanced.max_over_mean is None:
        return False
    is_uneven = len(now.tasks) > 1 and now.max_over_mean > EVEN
    return is_uneven and balanced.max_over_mean * EVEN < now.max_over_mean


def _advice(placement: JobPlacement) -> Iterator[Block]:
    short = [taskmanager for taskmanager in placement.taskmanagers if taskmanager.short_by]
    lines: list[str] = []
    if short:
        lines.append(
            message(
                "Raise taskmanager.memory.network.max, and network.min with it, by {more:bytes} at "
                "least, and taskmanager.memory.process.size by as much, so that no other part of "
                "the memory pays for it; or let fewer tasks share a TaskManager.",
                more=max(taskmanager.short_by for taskmanager in short) * placement.segment_bytes,
            )
        )
    if _is_worth_balancing(placement):
        lines.append(placement.advice)
    if lines:
        yield Advice(tuple(lines), "What to set")


def _facts(placement: JobPlacement) -> Facts:
    return Facts(
        (
            Fact("tasks", "Tasks", placement.tasks, "count"),
            Fact("slots_needed", "Slots that they need", placement.slots_needed, "count"),
            Fact("sampled_at", "Sampled", placement.at, "instant"),
        )
    )


def _outcomes(placement: JobPlacement) -> Table:
    return Table.of(
        placement.outcomes,
        "placements",
        "Placements",
        (
            Column("placement", "Placement", value=lambda outcome: LABELS[outcome.key]),
            Column(
                "tasks_most",
                "Fullest TaskManager",
                "count",
                "its tasks",
                lambda outcome: outcome.tasks[0],
            ),
            Column(
                "max_over_mean",
                "Over mean",
                "factor",
                "tasks of the fullest TaskManager over the mean, 1 is even",
            ),
            Column(
                "concentration",
                "Worst vertex",
                "factor",
                "its most subtasks on one TaskManager over their even share",
            ),
            Column("concentrated_vertex", "Which"),
            Column("buffers_least", "Buffers", "count", BUFFERS_NEEDED),
        ),
        note=(
            "Flink's default: slots filled by subtask index, TaskManagers one after the other; "
            "Flink's own order is random. Balanced tasks: what taskmanager.load-balance.mode TASKS "
            "of Flink 2.2 aims at. Simulated as if the job had its TaskManagers to itself."
        ),
    )


def _taskmanagers(placement: JobPlacement) -> Table:
    return Table.of(
        placement.taskmanagers,
        "taskmanagers",
        "TaskManagers",
        (
            Column("taskmanager_id", "TaskManager", "mono"),
            Column("host", "Host", "host"),
            Column("tasks", "Tasks", "count"),
            Column("slots", "Slots", "count"),
            Column("buffers_least", "Buffers", "count", BUFFERS_NEEDED),
            Column("buffers", "Pool", "count", "buffers of its network memory"),
            Column("short_by", "Lacking", "count"),
        ),
        subtitle="fullest first",
    )


def _vertices(placement: JobPlacement) -> Table:
    return Table.of(
        placement.vertices,
        "vertices",
        "Vertices",
        (
            Column("vertex", "Vertex", value="name"),
            Column("parallelism", "Parallelism", "count"),
            Column("taskmanagers", "On TaskManagers", "count"),
            Column("most", "Most on one", "count"),
            Column("even", "Even share", "count"),
        ),
        subtitle="most concentrated first",
    )
