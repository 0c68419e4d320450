"""The documentation, as MkDocs built it, for people who are signed in."""

import mimetypes
from pathlib import Path

from django.core.exceptions import SuspiciousFileOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils._os import safe_join

from webapp.site.documentation.places import SITE

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".js": "text/javascript; charset=utf-8",
}


def documentation(request: HttpRequest, rest: str = "") -> HttpResponse:
    """``rest``: the path of a file, or of a folder for its ``index.html``."""
    if not (SITE / "index.html").is_file():
        return render(request, "documentation/not_built.html", status=404)
    file = _file(rest)
    kind = (
        TYPES.get(file.suffix) or mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    )
    return HttpResponse(file.read_bytes(), content_type=kind)


def _file(path: str) -> Path:
    try:
        file = Path(
            safe_join(SITE, path, "index.html")
            if path.endswith("/") or not path
            else safe_join(SITE, path)
        )
        is_file = file.is_file()
    except (SuspiciousFileOperation, ValueError, OSError):
        # outside the site, with a NUL, or longer than file names can be
        is_file = False
    if not is_file:
        raise Http404("There is no such page in the documentation.")
    return file
