"""Whether Weir itself runs, judged from database rows: a dead worker reports nothing."""

from datetime import UTC, datetime, timedelta

from django.conf import settings

from ingest.messages import message
from webapp.config import schedule
from webapp.fleet.freshness import LEAST_CYCLE_S, MISSED_CYCLES
from webapp.fleet.models import SourceReading
from webapp.fleet.pipeline_status.problems import Problem
from webapp.lib.instants import utc_text
from webapp.work.models import DueWork, Heartbeat, PipelineAlarm
from webapp.work.registry import work_of

SLACK = timedelta(seconds=2 * schedule.TICK_S)
TICK = "tick"
LONGEST_SILENCE = timedelta(seconds=MISSED_CYCLES * schedule.TICK_S) + SLACK
UNREAD_FOR = timedelta(seconds=60)
"""A source may fail for this time while it is redeployed."""


def problems(now: datetime) -> list[Problem]:
    """The most basic problem first; none if Weir was never started."""
    rows = list(DueWork.objects.all())
    if not rows:
        return []
    tick = Heartbeat.objects.filter(name=TICK).first()
    faults = []
    if tick is None or abs(now - tick.at) > LONGEST_SILENCE:
        at = utc_text(tick.at) if tick else ""
        faults.append(
            Problem(
                "beat.silent",
                TICK,
                message(
                    "Nothing was scheduled since {at:name}: is the beat running, and a worker of "
                    "queue default?",
                    at=at,
                )
                if at
                else message(
                    "Nothing was scheduled yet: is the beat running, and a worker of queue default?"
                ),
            )
        )
    started_at = _started_at(rows, now)
    for row in rows:
        problem = _problem_of(row, started_at.get(_queue_of(row)), now)
        if problem:
            faults.append(problem)
    return faults + [
        Problem(
            "source.unreadable",
            source.name,
            message(
                "Its clusters stay as they were last listed. {last_error:text}",
                last_error=str(source.last_error),
            ),
        )
        for source in (
            SourceReading.objects.failing(now - UNREAD_FOR) if settings.WEIR.sources else ()
        )
    ]


def note_tick(now: datetime) -> None:
    last = Heartbeat.objects.filter(name=TICK).first()
    is_continued = last is not None and abs(now - last.at) <= LONGEST_SILENCE
    since = last.since if last is not None and is_continued and last.since else now
    Heartbeat.objects.update_or_create(name=TICK, defaults={"at": now, "since": since})


def _started_at(rows: list[DueWork], now: datetime) -> dict[str, datetime]:
    """Queue → when a worker last started or finished any of its work."""
    instants: dict[str, datetime] = {}
    for row in rows:
        signs = [now] if row.is_held(now) else [row.last_started_at, row.last_finished_at]
        queue = _queue_of(row)
        instants[queue] = max(
            [instants.get(queue, datetime.min.replace(tzinfo=UTC)), *filter(None, signs)]
        )
    return instants


def _queue_of(row: DueWork) -> str:
    try:
        return work_of(row.key).task.queue
    except ValueError:
        return ""


def _problem_of(row: DueWork, queue_started_at: datetime | None, now: datetime) -> Problem | None:
    interval_s = max(row.interval_s, LEAST_CYCLE_S)
    allowed = timedelta(seconds=MISSED_CYCLES * interval_s) + SLACK
    if row.failures >= MISSED_CYCLES:
        return Problem(
            "work.failing",
            row.key,
            message(
                "It failed {failures:name} times in a row: {last_error:text}",
                failures=str(row.failures),
                last_error=str(row.last_error),
            ),
        )
    # If the whole queue is stuck, an alarm need not wait for the interval of daily work.
    is_silent = queue_started_at is not None and queue_started_at < now - LONGEST_SILENCE
    if not row.is_held(now) and row.next_attempt_at < now - (
        LONGEST_SILENCE if is_silent else allowed
    ):
        queue = _queue_of(row)
        return Problem(
            "work.waiting",
            row.key,
            message(
                "It has been due since {next_attempt_at:name}, and no worker has started it: "
                "is a worker of queue {queue:name} running?",
                next_attempt_at=utc_text(row.next_attempt_at),
                queue=queue,
            ),
        )
    began = row.last_success_at or row.last_started_at
    if (
        began is not None
        and row.is_held(now)
        and began < now - allowed - timedelta(seconds=interval_s * MISSED_CYCLES)
    ):
        return Problem(
            "work.slow",
            row.key,
            message(
                "Its last success was at {began:name}; the present run takes long.",
                began=utc_text(began),
            ),
        )
    return None


def record_alarms(problems: list[Problem], now: datetime) -> None:
    open_alarms = {
        (alarm.code, alarm.subject): alarm
        for alarm in PipelineAlarm.objects.filter(cleared_at__isnull=True)
    }
    present_keys = {(problem.code, problem.subject) for problem in problems}
    for problem in problems:
        alarm = open_alarms.get((problem.code, problem.subject))
        if alarm is None:
            row = PipelineAlarm(
                code=problem.code, subject=problem.subject, detail=problem.detail, since=now
            )
            PipelineAlarm.objects.bulk_create([row], ignore_conflicts=True)
        elif alarm.detail != problem.detail:
            PipelineAlarm.objects.filter(pk=alarm.pk).update(detail=problem.detail)
    ended = [alarm.pk for key, alarm in open_alarms.items() if key not in present_keys]
    PipelineAlarm.objects.filter(pk__in=ended).update(cleared_at=now)
