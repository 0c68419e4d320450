"""``python -m tests.webapp.reports.ordered``: rows of an incident in a new home and a report that
was asked for; ``again`` makes it.
"""

import sys

import django

django.setup()

from django.utils import timezone  # noqa: E402 - models exist from here on

from tests.webapp.reports.stories import expiring, scope, seen  # noqa: E402
from webapp.config.preparation import prepare_database  # noqa: E402
from webapp.reports import orders, work_keys  # noqa: E402
from webapp.reports.models import IncidentReport  # noqa: E402
from webapp.work.perform import perform  # noqa: E402

if __name__ == "__main__":
    if "again" in sys.argv:
        perform(work_keys.key_of(IncidentReport.objects.get().pk), even_if_not_due=True)
    else:
        prepare_database()
        seen()
        orders.request_report(scope(expiring()), user=None, name="olga", at=timezone.now())
