"""The newest audit of a root that somebody named on a terminal."""

from django.core.management.base import CommandError

from ingest.uris import canonical
from webapp.config.preparation import REFUSED
from webapp.storage.auditing.audit_request import spellings
from webapp.storage.models import RootFigures
from webapp.storage.newest_audits import latest_of


def root_named(written: str) -> RootFigures:
    """``written`` in any spelling. Raises ``BadUri``, and ``CommandError`` without an audit."""
    uri = canonical(written, spellings())
    figures = latest_of(uri)
    if figures is None:
        reason = f"No audit has looked at {uri}: run manage.py audit_storage {uri} first."
        raise CommandError(reason, returncode=REFUSED)
    return figures
