"""Times looks at alerts in a process of its own: ``python -m tests.bench.alert_timings FINDINGS``;
prints one JSON object.
"""

# ruff: noqa: E402 - Django must be set up before its models are imported
import json
import os
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import django

django.setup()

from django.core.management import call_command
from django.db import transaction
from django.utils import timezone

from tests.webapp.alerting.builders import somebody_listens, unsaved
from tests.webapp.builders import person
from webapp.alerting import actions
from webapp.alerting.evaluation import evaluate
from webapp.alerting.models import Alert, AlertEvent
from webapp.delivery.models import Delivery, DeliveryAlert
from webapp.findings import marks
from webapp.findings.models import Finding
from webapp.lib.matchers import parse_lines

CLUSTERS, ENDPOINTS = 50, 3
RULES = ("checkpoint.declined", "checkpoint.expired", "pressure.root", "restart.loop")
EVIDENCE = [
    {
        "name": f"figure {number}",
        "value": 4.0 * number,
        "unit": "ms",
        "threshold": 1.0,
        "comparison": ">=",
    }
    for number in range(6)
]


def main(findings: int) -> None:
    call_command("migrate", verbosity=0)
    now = timezone.now()
    for number in range(ENDPOINTS):
        lines = "" if number % 2 else f'cluster=~"cluster-{number}.*"'
        somebody_listens(matchers=[one.as_json() for one in parse_lines(lines)])
    rows = [
        unsaved(
            0,
            f"job-{number}",
            RULES[number % len(RULES)],
            cluster=f"cluster-{number % CLUSTERS}",
            job_id=f"{number:032x}",
            evidence=EVIDENCE,
            cause="c" * 400,
            next_step="n" * 300,
            first_seen=now,
            last_seen=now,
            as_of=now,
        )
        for number in range(findings)
    ]
    # What a process learns once (addresses, rules) is no part of a look.
    unsaved(0, "warm-up", first_seen=now, last_seen=now, as_of=now, cluster="warm-up").save()
    evaluate(now + timedelta(seconds=30))
    Finding.objects.bulk_create(rows, batch_size=500)
    later = now + timedelta(minutes=1)
    first_s = timed(lambda: evaluate(later))
    assert Alert.objects.filter(
        notified="firing"
    ).count() == findings + 1 and Delivery.objects.count() >= len(RULES)
    figures = {"first_s": first_s, "inserted_s": inserted_s()}
    figures["idle_s"] = timed(lambda: evaluate(later + timedelta(seconds=15)))
    actions.silence(
        parse_lines('job=~"job-1.*"'), now, now + timedelta(hours=1), "bench", person(), now
    )
    evaluate(later + timedelta(seconds=30))
    figures["silenced_s"] = timed(lambda: evaluate(later + timedelta(seconds=45)))
    marks.close(list(Finding.objects.values_list("pk", flat=True)), later)
    evaluate(later + timedelta(minutes=1))
    over = now + timedelta(hours=2)
    figures["resolved_s"] = timed(lambda: evaluate(over)) + timed(
        lambda: evaluate(over + timedelta(minutes=1))
    )
    assert not Alert.objects.filter(notify_since__isnull=False).exists()
    print(json.dumps(figures))


def inserted_s() -> float:
    """Rows like those that were made, inserted by the same library in one transaction, and taken
    back.
    """
    made: list[list[Any]] = [
        list(model.objects.all()) for model in (Alert, AlertEvent, Delivery, DeliveryAlert)
    ]
    for rows in made:
        for row in rows:
            row.pk = None
    for row in made[0]:
        row.uid, row.state = f"copy-{row.uid[:30]}", "resolved"
    for row in made[2]:
        row.uid, row.notice_uid = f"copy-{row.uid}", f"copy-{row.notice_uid}"

    def insert() -> None:
        with transaction.atomic():
            for rows in made:
                type(rows[0]).objects.bulk_create(rows, batch_size=500)
            transaction.set_rollback(True)

    return timed(insert)


def timed(act: Callable[[], Any]) -> float:
    started = time.perf_counter()
    act()
    return time.perf_counter() - started


if __name__ == "__main__":
    main(int(sys.argv[1]))
