"""Files that are not live, one page of the audit's Parquet at a time."""

import logging
from collections.abc import Sequence
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_GET

from spark_jobs.manifest import BadManifest
from spark_jobs.storage_words import KINDS, REASONS, VERDICTS
from webapp.lib.exports import export_response
from webapp.storage.auditing import loading
from webapp.storage.models import RootFigures
from webapp.storage.newest_audits import latest_of
from webapp.storage.verdict_files import COLUMNS, FilePage, VerdictFiles, Wanted

log = logging.getLogger(__name__)

FILES_A_PAGE = 100
NOT_LIVE = tuple(name for name in VERDICTS if name != "live")


@require_GET
def files(request: HttpRequest) -> HttpResponse:
    uri = _text(request, "uri")
    figures = latest_of(uri)
    if figures is None:
        raise Http404("No audit has looked at this root.")
    wanted = wanted_files(request, uri)
    found, unreadable = read(figures, wanted, FILES_A_PAGE)
    context: dict[str, Any] = {
        "uri": uri,
        "figures": figures,
        "audit": figures.audit,
        "wanted": wanted,
        "found": found,
        "rows": [_row(row) for row in found.rows],
        "unreadable": unreadable,
        "verdicts": NOT_LIVE,
        "reasons": _reasons([wanted.verdict] if wanted.verdict else NOT_LIVE),
        "kinds": KINDS,
    }
    return render(request, "storage/files.html", context)


@require_GET
def export(request: HttpRequest, form: str) -> HttpResponseBase:
    """All files that fit, streamed as they are read."""
    uri = _text(request, "uri")
    figures = latest_of(uri)
    if figures is None or not figures.audit.files_kept:
        raise Http404("No list of files is kept of this root.")
    try:
        rows = VerdictFiles.of(loading.read_manifest(figures.audit)).matching(wanted_files(request, uri))
    except (OSError, BadManifest) as error:
        raise Http404("The list of files of this root cannot be read.") from error
    return export_response(form, "weir-files-not-live", COLUMNS, rows)


def wanted_files(request: HttpRequest, uri: str) -> Wanted:
    """What the address says wrongly is as if unsaid."""
    verdict, kind = _text(request, "verdict"), _text(request, "kind")
    return Wanted(
        root=uri,
        verdict=verdict if verdict in NOT_LIVE else "",
        reason=_text(request, "reason")[:64],
        kind=kind if kind in KINDS else "",
        job_id=_text(request, "job")[:64],
        after=_text(request, "after"),
    )


def read(figures: RootFigures, wanted: Wanted, size: int) -> tuple[FilePage, str]:
    """A page, or none and why. The files of an old audit are gone; any storage may fail with any error."""
    if not figures.audit.files_kept:
        return FilePage([]), "The list of files of this audit is no longer kept."
    try:
        return VerdictFiles.of(loading.read_manifest(figures.audit)).page(wanted, size), ""
    except (OSError, BadManifest):
        log.exception("Verdicts of audit %s could not be read", figures.audit.audit_id)
        return FilePage([]), "The list of files of this audit could not be read; the server's log has the reason."


def _row(row: dict[str, Any]) -> dict[str, Any]:
    words = REASONS.get(row["verdict"], {}).get(row["reason"], row["reason"])
    below_root = row["path"].removeprefix(row["root"].rstrip("/") + "/")
    return {**row, "words": words, "kind_words": KINDS.get(row["kind"] or "", ""), "below_root": below_root}


def _reasons(verdicts: Sequence[str]) -> dict[str, str]:
    return {code: words for verdict in verdicts for code, words in REASONS[verdict].items()}


def _text(request: HttpRequest, name: str) -> str:
    return request.GET.get(name, "").replace("\x00", "")[:4_000]
