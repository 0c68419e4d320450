"""``python -m tests.webapp.reports.one_home``: a home with one report that was asked for; make it, and print its state and attempts."""

import sys

import django

django.setup()

from django.utils import timezone  # noqa: E402 - models exist from here on

from tests.webapp.reports.stories import expiring, scope, seen  # noqa: E402
from webapp.config.preparation import prepare_database  # noqa: E402
from webapp.pipeline.perform import perform  # noqa: E402
from webapp.reports import due, orders  # noqa: E402
from webapp.reports.models import IncidentReport  # noqa: E402


def main() -> int:
    prepare_database()
    report = IncidentReport.objects.first()
    if report is None:
        seen()
        report = orders.ask_for(scope(expiring()), user=None, name="olga", at=timezone.now())
    perform(due.key_of(report.pk), even_if_not_due=True)
    report.refresh_from_db()
    print(report.state, report.attempts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
