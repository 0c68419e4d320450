from datetime import timedelta

from django.utils import timezone

from webapp.alerting import evaluation, evaluation_hint
from webapp.config.schedule import TICK_S
from webapp.findings.models import Finding
from webapp.work.registry import Work, register

SHORTLY = timedelta(seconds=1)


def _hint_again(_key: str) -> None:
    """For a hint that was not followed: at the end of another evaluation it would be lost."""
    if Finding.objects.filter(to_alert=True).exists():
        evaluation_hint.hint(SHORTLY)


register(
    Work(
        evaluation_hint.KEY,
        evaluation_hint.TASK,
        every=lambda: {evaluation_hint.KEY: TICK_S},
        look=lambda lease: evaluation.evaluate(timezone.now(), lease),
        when_hinted=True,
        missed=_hint_again,
    )
)
