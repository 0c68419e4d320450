from collections.abc import Iterable
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from spark_jobs.manifest import BadManifest
from spark_jobs.storage_words import KINDS, REASONS
from webapp.lib.exports import export_response
from webapp.lib.filters import words
from webapp.lib.list_pages import Control, filter_form
from webapp.storage.auditing import loading
from webapp.storage.newest_audits import audited_or_404, latest_of
from webapp.storage.verdict_files import (
    COLUMNS,
    NOT_LIVE,
    FileFilters,
    FilePage,
    VerdictFiles,
    read_page,
)

FILES_A_PAGE = 40


@require_GET
def files(request: HttpRequest) -> HttpResponse:
    filters = FileFilters.from_page(request.GET)
    query = filters.query
    figures = audited_or_404(query.root)
    page, unreadable = (
        read_page(figures, query, FILES_A_PAGE) if filters.is_valid() else (FilePage([]), "")
    )
    verdicts = [query.verdict] if query.verdict else NOT_LIVE
    reasons = dict.fromkeys(reason for verdict in verdicts for reason in REASONS[verdict])
    context: dict[str, Any] = {
        "uri": query.root,
        "figures": figures,
        "audit": figures.audit,
        "filters": filters,
        "filter_form": filter_form(
            request,
            filters,
            Control("verdict", "Verdict", [("", "Any verdict"), *_options(NOT_LIVE)]),
            Control("reason", "Reason", [("", "Any reason"), *_options(reasons)]),
        ),
        "wanted": query,
        "found": page,
        "rows": [_row(row) for row in page.rows],
        "unreadable": unreadable,
    }
    return render(request, "storage/files.html", context)


@require_GET
def export(request: HttpRequest) -> HttpResponseBase:
    filters = FileFilters.from_page(request.GET)
    filters.check()
    figures = latest_of(filters.query.root)
    if figures is None or not figures.audit.files_kept:
        raise Http404(gettext("No list of files is kept of this root."))
    try:
        rows = VerdictFiles.of(loading.read_manifest(figures.audit)).matching(filters.query)
    except (OSError, BadManifest) as error:
        raise Http404(gettext("The list of files of this root cannot be read.")) from error
    return export_response("weir-files-not-live", COLUMNS, rows)


def _options(codes: Iterable[str]) -> list[tuple[str, str]]:
    return [(code, words(code)) for code in codes]


def _row(row: dict[str, Any]) -> dict[str, Any]:
    return {
        **row,
        "words": REASONS.get(row["verdict"], {}).get(row["reason"], row["reason"]),
        "kind_words": KINDS.get(row["kind"] or "", ""),
        "below_root": row["path"].removeprefix(row["root"].rstrip("/") + "/"),
    }
