from datetime import datetime

from webapp.growth import objective_evaluation
from webapp.growth.summing import sum_up
from webapp.work.registry import MAINTAIN_TASK, MINUTE_S, FinishedAttempt, Work, register

GROWTH = "growth/days"
RESTS_FOR = 50
"""The pause in multiples of the duration: at most half an hour of a day is used."""


def _next(attempt: FinishedAttempt) -> datetime:
    rest = max(attempt.interval, RESTS_FOR * (attempt.ended_at - attempt.started_at))
    return attempt.ended_at + rest


register(
    Work(GROWTH, MAINTAIN_TASK, every=lambda: {GROWTH: 15 * MINUTE_S}, do=sum_up, next_at=_next),
    Work(
        objective_evaluation.KEY,
        MAINTAIN_TASK,
        every=lambda: (
            {objective_evaluation.KEY: MINUTE_S} if objective_evaluation.is_wanted() else {}
        ),
        do=objective_evaluation.evaluate_all,
    ),
)
