"""The newest audit of a root that somebody named on a terminal."""

from django.core.management.base import CommandError

from ingest.uris import canonical
from webapp.config.preparation import REFUSED
from webapp.storage.auditing.audit_request import spellings
from webapp.storage.models import RootFigures
from webapp.storage.newest_audits import latest_of


def root_named(written: str) -> RootFigures:
    """``written`` as Flink names it, in any spelling. Raises ``BadUri``, and ``CommandError`` where no audit has looked at it."""
    uri = canonical(written, spellings())
    figures = latest_of(uri)
    if figures is None:
        raise CommandError(f"No audit has looked at {uri}: run manage.py audit_storage {uri} first.", returncode=REFUSED)
    return figures
