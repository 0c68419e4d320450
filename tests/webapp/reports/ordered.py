"""``python -m tests.webapp.reports.ordered``: rows of an incident in a new home and a report that was asked for; ``again`` makes it."""

import sys

import django

django.setup()

from django.utils import timezone

from tests.webapp.reports.stories import expiring, scope, seen
from webapp.config.preparation import prepare_database
from webapp.reports import orders, work_keys
from webapp.reports.models import IncidentReport
from webapp.work.perform import perform

if __name__ == "__main__":
    if "again" in sys.argv:
        perform(work_keys.key_of(IncidentReport.objects.get().pk), even_if_not_due=True)
    else:
        prepare_database()
        seen()
        orders.request_report(scope(expiring()), user=None, name="olga", at=timezone.now())
