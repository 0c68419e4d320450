"""``python -m tests.webapp.reports.ordered``: rows of an incident in a new home, and a report of it that was asked for."""

import django

django.setup()

from django.utils import timezone  # noqa: E402 - models exist from here on

from tests.webapp.reports.stories import expiring, scope, seen  # noqa: E402
from webapp.config.preparation import prepare_database  # noqa: E402
from webapp.reports import orders  # noqa: E402

if __name__ == "__main__":
    prepare_database()
    seen()
    orders.ask_for(scope(expiring()), user=None, name="olga", at=timezone.now())
