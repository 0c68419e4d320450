from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ingest.messages import join_messages, list_text, message, plural
from spark_jobs.diagnosis.failure_causes.cause import FailureCause
from spark_jobs.diagnosis.failure_causes.table import (
    UNKNOWN,
    cause_by_code,
    cause_of,
    cause_of_failure,
    code_of,
)
from spark_jobs.diagnosis.findings import Evidence, Finding, Limits, Related, Threshold
from spark_jobs.diagnosis.lost_taskmanagers import loss_reasons, newest_loss
from spark_jobs.diagnosis.pods import POD_KINDS, WaitingPods, waiting_pods
from spark_jobs.diagnosis.restart_episodes import (
    READS,
    SAME_MS,
    Episode,
    episodes,
    first_attempt,
    is_rescaling,
    last_attempt,
)
from spark_jobs.diagnosis.root_exceptions import (
    UNKNOWN_CAUSE,
    UNREPORTED,
    fails_by_host,
    is_lost_taskmanager,
    lost_taskmanager,
    root_of,
)
from spark_jobs.diagnosis.rule import job_finding, rule
from spark_jobs.diagnosis.samples import JobFailure, JobWindow
from spark_jobs.diagnosis.stack_traces import without_middle
from spark_jobs.diagnosis.statistics import at_least_by_chance, counts_of, largest_group

RULE = "restart.loop"
EPISODES, WINDOW = f"{RULE}.episodes", f"{RULE}.window_s"
STUCK_MS = 300_000
"""Flink's slot.request.timeout: a job that restarts for longer has other problems than slots."""
HOST_SHARE = 0.8
LOST = message("TaskManager lost")

ROOT_WITHIN_MS = 2_000
MESSAGE_CHARS = 200
WRAPPED_WITHIN_MS = 5_000
"""Another task or source reports the cause in a wrapper at about the same time."""
FATAL = ("taskmanager_fatal", "fatal_error")
FATAL_BEFORE_MS = 90_000
"""A TaskManager may log its end so long before its heartbeat times out."""
SLOTS_REQUIRED, SLOTS_MISSING = "slots_required", "slots_missing"
SYMPTOMS = frozenset(
    {
        "RPC_TIMEOUT",
        "CONNECTION_BROKEN",
        "CONTAINER_EXITED",
        "PARTITION_NOT_FOUND",
        "TASKMANAGERS_DISCONNECTED",
    }
)
STUCK_RESTARTS = 2
"""Missing slots allow two restarts in ten minutes."""
LOOK_BACK_MS = 6 * 3_600_000
"""A restart strategy may wait for hours."""
MOST_CHANCE = 0.05
"""Largest probability of as many failures on one host if all tasks fail equally often."""


@rule(
    RULE,
    message("Restart loop"),
    message(
        "The job failed and restarted at least three times within ten minutes, or has not run "
        "undisturbed since it restarted."
    ),
    fed_by="windows/1.20.5-J",
    hold_s=600,
    reads=(*READS, SLOTS_REQUIRED, SLOTS_MISSING, *FATAL, *POD_KINDS),
    needs=("annotations", "events"),
    thresholds=(
        Threshold(
            EPISODES,
            3,
            "count",
            2,
            1_000,
            message(
                "Once is a failure, twice may be the same host dying slowly; the third time the "
                "cause did not go away by itself."
            ),
        ),
        Threshold(
            WINDOW,
            600,
            "s",
            60,
            86_400,
            message(
                "Ten minutes of running: within them a job that fails at each start shows it, "
                "however long its restart strategy waits, and unrelated failures of days do not "
                "add up."
            ),
        ),
    ),
)
def judge(window: JobWindow, limits: Limits) -> Iterator[Finding]:
    if len(window.annotations) + len(window.events) < limits[EPISODES]:
        return
    recent_episodes = [
        episode
        for episode in episodes(window, window.at_ms - LOOK_BACK_MS)
        if episode.failures or not is_rescaling(window, episode)
    ]
    failing = _within(recent_episodes, window.at_ms, int(limits[WINDOW] * 1000))
    if not failing:
        return
    is_stuck = len(failing) < limits[EPISODES]
    if is_stuck and not _is_stuck(window, failing[-1], limits):
        return
    reasons = loss_reasons(window)
    # The current cause of a continuing episode says more than its first one.
    troubles = [
        _trouble(window, last_attempt(episode) if episode.ended_ms is None else episode, reasons)
        for episode in failing
    ]
    yield _finding(window, limits, failing, troubles, _first_fault(window, reasons), is_stuck)


def _within(recent_episodes: Sequence[Episode], at_ms: int, running_ms: int) -> list[Episode]:
    """The newest episodes between which the job ran for at most ``running_ms`` in total. Waiting
    for the next attempt is no running.
    """
    newest: list[Episode] = []
    until_ms, ran_ms = at_ms, 0
    for episode in reversed(recent_episodes):
        ran_ms += max(until_ms - episode.ended_ms, 0) if episode.ended_ms is not None else 0
        if ran_ms > running_ms:
            break
        newest.insert(0, episode)
        until_ms = episode.begun_ms
    return newest


@dataclass(frozen=True)
class _Host:
    """The host of most failures; its shares of ``failures`` and of ``tasks``."""

    name: str
    failures: float
    tasks: float


@dataclass(frozen=True)
class _Trouble:
    """The fault that began an episode. ``lost``: TaskManagers that were lost in the episode.
    ``cause``: by the exception, or by the reason of the loss (``reason``).
    """

    group: str
    message: str
    lost: tuple[str, ...]
    first: JobFailure | None
    cause: FailureCause | None = None
    reason: str = ""


def _trouble(window: JobWindow, episode: Episode, reasons: Mapping[str, str]) -> _Trouble:
    trouble = _group_of(episode)
    if trouble.group != LOST:
        first = trouble.first
        cause = cause_of_failure(first.name, first.stacktrace) if first else None
        return replace(trouble, cause=cause)
    traced_names = (lost_taskmanager(failure.stacktrace) for failure in episode.failures)
    names = dict.fromkeys((*trouble.lost, *filter(None, traced_names)))
    texts = [reasons[name] for name in names if name in reasons]
    texts += [
        event.detail or event.message or ""
        for event in window.events
        if event.kind in FATAL
        and episode.begun_ms - FATAL_BEFORE_MS <= event.at_ms <= episode.begun_ms + SAME_MS
    ]
    texts += [failure.stacktrace or failure.name for failure in episode.failures]
    causes = [(cause, text) for text in texts if (cause := cause_of(text))]
    # A symptom, such as a time-out, says less than a cause.
    cause, text = min(causes, key=lambda pair: pair[0].code in SYMPTOMS, default=(None, ""))
    return replace(trouble, cause=cause, reason=text.partition("\n")[0])


def _first_fault(window: JobWindow, reasons: Mapping[str, str]) -> _Trouble | None:
    first = first_attempt(window)
    trouble = _trouble(window, first, reasons) if first else None
    return trouble if trouble and trouble.group != UNREPORTED else None


def _group_of(episode: Episode) -> _Trouble:
    if not episode.failures:
        return _Trouble(LOST if episode.lost else UNREPORTED, "", episode.lost, None)
    first = _first_failure(episode)
    root, lost = root_of(first.name, first.stacktrace), episode.lost
    if is_lost_taskmanager(first.name, first.stacktrace):
        return _Trouble(LOST, root.message, lost, first)
    if root.is_wrapper:
        simultaneous = [
            failure
            for failure in episode.failures
            if abs(failure.at_ms - first.at_ms) <= WRAPPED_WITHIN_MS
        ]
        causes = [
            (failure, exception)
            for failure in simultaneous
            if not (exception := root_of(failure.name, failure.stacktrace)).is_wrapper
        ]
        if any(is_lost_taskmanager(failure.name, failure.stacktrace) for failure in simultaneous):
            return _Trouble(LOST, root.message, lost, first)
        if causes:
            # An exception with a frame of the job's own code says most.
            first, root = min(causes, key=lambda pair: pair[1].frame is None)
    return _Trouble(root.group, root.message, lost, first)


def _first_failure(episode: Episode) -> JobFailure:
    earliest = episode.failures[0]
    roots = (
        failure
        for failure in episode.failures
        if failure.is_root and failure.at_ms - earliest.at_ms <= ROOT_WITHIN_MS
    )
    return next(roots, earliest)


def _is_stuck(window: JobWindow, last: Episode, limits: Limits) -> bool:
    """Whether not all tasks run again between restarts, for long, or often with one exception of a
    task. Lost TaskManagers and missing slots may cause several restarts in a row.
    """
    least = limits[EPISODES]
    if last.ended_ms is not None or len(last.restarts) < min(least, STUCK_RESTARTS):
        return False
    groups = [
        root_of(failure.name, failure.stacktrace).group
        for failure in last.failures
        if failure.is_root is not False and not _is_infrastructure(failure)
    ]
    is_repeated = bool(groups) and largest_group(groups)[1] >= least
    lasted_ms = window.at_ms - last.begun_ms
    return is_repeated or (not window.terminal and lasted_ms >= STUCK_MS)


def _span_ms(window: JobWindow, limits: Limits, failing: Sequence[Episode]) -> float:
    lasted_ms = window.at_ms - failing[0].begun_ms
    return max(limits[WINDOW] * 1000, lasted_ms - lasted_ms % 60_000)


def _is_infrastructure(failure: JobFailure) -> bool:
    cause = cause_of_failure(failure.name, failure.stacktrace)
    no_slots = cause is not None and cause.waits_for_slots
    return no_slots or is_lost_taskmanager(failure.name, failure.stacktrace)


def _finding(
    window: JobWindow,
    limits: Limits,
    failing: Sequence[Episode],
    troubles: Sequence[_Trouble],
    first: _Trouble | None,
    is_stuck: bool,
) -> Finding:
    group, group_count = largest_group([trouble.group for trouble in troubles])
    host = _host(window, troubles)
    lost = sorted({name for episode in failing for name in episode.lost})
    newest = next(trouble for trouble in reversed(troubles) if trouble.group == group)
    reported_episodes = sum(trouble.first is not None for trouble in troubles)
    needs_slots = newest.cause is not None and newest.cause.waits_for_slots
    pods = waiting_pods(window) if needs_slots else None
    if is_stuck:
        title = message(
            "{restarts:message} without all tasks running again",
            restarts=plural(
                len(failing[-1].restarts), "{count:count} restart", "{count:count} restarts"
            ),
        )
    else:
        title = message(
            "{found:message} within {limits:duration}",
            found=plural(
                len(failing), "{count:count} restart episode", "{count:count} restart episodes"
            ),
            limits=_span_ms(window, limits, failing),
        )
    return job_finding(
        window,
        RULE,
        "critical",
        "high" if reported_episodes * 2 >= len(failing) else "medium",
        title=message(
            "{title:message}: {words:text}",
            title=title,
            words=list_text(lost) + " lost" if group == LOST and lost else group,
        ),
        cause=join_messages(
            (
                _beginning(first) if first and first.group != group else "",
                _share_text(group_count, len(troubles)),
                _current_cause(group, newest, lost, host, pods),
            ),
            " ",
        ),
        next_step=pods.cause.next_step
        if pods and pods.cause
        else _next_step(newest, host, _only_task(troubles)),
        seen_at_ms=failing[-1].restarts[-1],
        began_at_ms=min([failing[0].begun_ms, *(failure.at_ms for failure in failing[0].failures)]),
        evidence=_evidence(window, limits, failing, troubles, host, is_stuck),
        related=(
            *(Related("taskmanager", name, message("lost")) for name in lost),
            *((Related("host", host.name, message("most failures")),) if host else ()),
        ),
        data={
            "episodes": [
                {
                    "begun_ms": episode.begun_ms,
                    "restarts": len(episode.restarts),
                    "all_run_again_ms": episode.ended_ms,
                    "group": trouble.group,
                    "host": trouble.first.host if trouble.first else None,
                }
                for episode, trouble in zip(failing, troubles, strict=True)
            ][-20:],
            "groups": counts_of(trouble.group for trouble in troubles),
            "causes": counts_of(code_of(trouble.cause) for trouble in troubles),
            "first_fault": first and {"group": first.group, "cause": code_of(first.cause)},
            "lost_taskmanagers": lost,
        },
    )


def _host(window: JobWindow, troubles: Sequence[_Trouble]) -> _Host | None:
    """The host of most failures. None if its share of tasks explains them, if one task has them
    all, or if the job's code or a system that it calls failed.
    """
    failures = [trouble.first for trouble in troubles if trouble.first and trouble.first.host]
    hosts = [failure.host for failure in failures if failure.host]
    tasks = [host for vertex in window.vertex_windows for host in vertex.host if host]
    if len(hosts) < 2 or not tasks or _only_task(troubles):
        return None
    name, count = largest_group(hosts)
    if count / len(hosts) < HOST_SHARE or not all(
        fails_by_host(failure.name, failure.stacktrace)
        for failure in failures
        if failure.host == name
    ):
        return None
    share = tasks.count(name) / len(tasks)
    probability = at_least_by_chance(count, len(hosts), share)
    # If no task runs there any more, the share of tasks is unknown.
    return _Host(name, count / len(hosts), share) if share and probability <= MOST_CHANCE else None


def _only_task(troubles: Sequence[_Trouble]) -> tuple[str, str] | None:
    """The only subtask and host with failures: either may be the cause. None if there are more."""
    failures = [trouble.first for trouble in troubles if trouble.first]
    tasks = {failure.task.split(" - execution", 1)[0] for failure in failures if failure.task}
    hosts = {failure.host for failure in failures if failure.host}
    if len(failures) < 2 or len(tasks) != 1 or len(hosts) != 1:
        return None
    return tasks.pop(), hosts.pop()


def _beginning(first_fault: _Trouble) -> str:
    who = list_text(first_fault.lost)
    return message(
        "It began with {first:text}{who:text}.",
        first=first_fault.group,
        who=message(" ({name:name})", name=who) if who and first_fault.group == LOST else "",
    )


def _share_text(group_count: int, episodes: int) -> str:
    if group_count == episodes:
        return ""
    return message(
        "{often:number} of {episodes:number} restart episodes are alike.",
        often=group_count,
        episodes=episodes,
    )


def _current_cause(
    group: str,
    newest: _Trouble,
    lost_taskmanagers: list[str],
    host: _Host | None,
    pods: WaitingPods | None,
) -> str:
    if group == UNREPORTED:
        return UNKNOWN_CAUSE
    if group == LOST:
        death = message("Killed for memory, evicted, or cut off from the network.")
        if newest.cause:
            death = newest_loss(newest.cause, newest.reason)
        return message(
            "TaskManagers were lost: {who:name}. {death:message}",
            who=list_text(lost_taskmanagers) or message("one that nothing names"),
            death=death,
        )
    where = (
        message(
            " {host:share} of the failures were on {host2:name}, which runs {tasks:share} of the "
            "tasks.",
            host=host.failures,
            host2=host.name,
            tasks=host.tasks,
        )
        if host
        else ""
    )
    words = (
        message(" ({text:text})", text=without_middle(newest.message, MESSAGE_CHARS))
        if newest.message
        else ""
    )
    return message(
        "The root exception of these restarts was {group:text}{words:text}.{where:text}",
        group=group,
        words=words,
        where=where + message(" {pods:message}", pods=pods.sentence) if pods else where,
    )


def _next_step(trouble: _Trouble, host: _Host | None, only_task: tuple[str, str] | None) -> str:
    advice, cause = _advice(trouble, host), trouble.cause
    happens_everywhere = trouble.group == LOST or (
        cause is not None and (cause.unreadable or cause.waits_for_slots)
    )
    if only_task is None or happens_everywhere:
        return advice
    note = message(
        "Note that all failures come from {only_task:name}, on {host:name} each time.",
        only_task=only_task[0],
        host=only_task[1],
    )
    return join_messages((advice, note), " ")


def _advice(trouble: _Trouble, host: _Host | None) -> str:
    if trouble.cause and not host:
        return trouble.cause.next_step
    if trouble.group == LOST:
        return message(
            "Find out why the TaskManagers died: the reason of the container's end "
            "(OOMKilled, evicted, node lost), the end of their logs, dmesg of their host. "
            "Compare resident memory with taskmanager.memory.process.size."
        )
    if host:
        return message(
            "Look at {host:name} first: move the job's tasks away from it (cordon it or stop its "
            "TaskManager) and see if the loop ends.",
            host=host.name,
        )
    return message(
        "Read the root exception. If a record or an outside system causes it, every restart "
        "will fail in the same way: stop the job with its last checkpoint retained, repair or "
        "roll back, and start from that checkpoint."
    )


def _evidence(
    window: JobWindow,
    limits: Limits,
    failing: Sequence[Episode],
    troubles: Sequence[_Trouble],
    host: _Host | None,
    is_stuck: bool,
) -> Iterator[Evidence]:
    name, count = message("restart episodes"), len(failing)
    if is_stuck:
        name = message("restarts without all tasks running again")
        count = len(failing[-1].restarts)
    span = message("within {limits:duration}", limits=_span_ms(window, limits, failing))
    yield limits.evidence(name, count, EPISODES, span)
    for group, count in list(counts_of(trouble.group for trouble in troubles).items())[:5]:
        yield Evidence(
            message("root exception"),
            group,
            note=plural(count, "{count:count} episode", "{count:count} episodes"),
        )
    codes = counts_of(code_of(trouble.cause) for trouble in troubles)
    for code, count in codes.items():
        if code == UNKNOWN and len(codes) > 1:
            continue
        yield Evidence(
            message("cause"),
            message("not known by its words") if code == UNKNOWN else cause_by_code(code).title,
            note=plural(count, "{count:count} episode", "{count:count} episodes"),
        )
    if any(trouble.cause and trouble.cause.waits_for_slots for trouble in troubles):
        yield from _slots(window)
        if pods := waiting_pods(window):
            yield pods.evidence
    failure = next((trouble.first for trouble in reversed(troubles) if trouble.first), None)
    if failure:
        yield Evidence(
            message("last failed task"),
            failure.task or message("global failure"),
            note=message("on {host:name}", host=failure.host) if failure.host else "",
        )
    if host:
        yield Evidence(
            message("share of failures on one host"),
            host.failures,
            "ratio",
            HOST_SHARE,
            ">=",
            note=message(
                "{host:name}; of the tasks {tasks:share}", host=host.name, tasks=host.tasks
            ),
        )


def _slots(window: JobWindow) -> Iterator[Evidence]:
    counts = [
        count
        for event in window.events
        if event.kind == SLOTS_REQUIRED and (count := event.fields.get("count"))
    ]
    largest = max((vertex.parallelism or 0 for vertex in window.vertices), default=0)
    if counts or largest:
        yield Evidence(
            message("slots that the job needs"),
            counts[-1] if counts else largest,
            "count",
            note=message("by the log")
            if counts
            else message("its largest parallelism, where all vertices share slots"),
        )
    texts = [
        str(text)
        for event in window.events
        if event.kind == SLOTS_MISSING and (text := event.fields.get("reason_text"))
    ]
    if texts:
        yield Evidence(message("slots that are there"), texts[-1])
