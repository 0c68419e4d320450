"""Pages of the files that are not live, out of an audit's Parquet, as the page and the API show
them.
"""

import logging

from django.utils.translation import gettext

from spark_jobs.manifest import BadManifest
from spark_jobs.storage_words import KINDS, VERDICTS
from webapp.lib.filter_sets import ListFilters
from webapp.lib.query_parameters import Choice, LongText, Text
from webapp.storage.auditing import loading
from webapp.storage.models import RootFigures
from webapp.storage.verdict_files import FilePage, VerdictFiles, Wanted

log = logging.getLogger(__name__)
NOT_LIVE = tuple(name for name in VERDICTS if name != "live")


class FileFilters(ListFilters):
    """Of rows that no database holds."""

    root = LongText(about="its canonical URI")
    verdict = Choice(NOT_LIVE)
    reason = Text()
    kind = Choice(tuple(KINDS))
    job_id = Text(about="also taken as job")
    after = LongText(about="`after` of the answer before")
    aliases = {"uri": "root", "job": "job_id"}

    @property
    def wanted(self) -> Wanted:
        return Wanted(**self.values)


def read(figures: RootFigures, wanted: Wanted, size: int) -> tuple[FilePage, str]:
    """A page, or none and why.

    The files of an old audit are gone; any storage may fail with any error.
    """
    if not figures.audit.files_kept:
        return FilePage([]), gettext("The list of files of this audit is no longer kept.")
    try:
        return VerdictFiles.of(loading.read_manifest(figures.audit)).page(wanted, size), ""
    except (OSError, BadManifest):
        log.exception("Verdicts of audit %s could not be read", figures.audit.audit_id)
        return FilePage([]), gettext(
            "The list of files of this audit could not be read; the server's log has the reason."
        )
