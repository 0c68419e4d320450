"""Search results as a page, and as the part shown in the palette (Ctrl K)."""

from collections.abc import Iterator
from typing import cast
from urllib.parse import urlsplit

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from webapp.accounts.models import User
from webapp.accounts.viewers import is_admin
from webapp.site.palette.hits import Group
from webapp.site.palette.hosts import hosts
from webapp.site.palette.jobs import jobs
from webapp.site.palette.places import places, settings
from webapp.site.palette.quotes import quoting

MOST_CHARS = 4_000
"""The rest of a longer text is ignored."""


@require_GET
def find(request: HttpRequest) -> HttpResponse:
    text = request.GET.get("q", "").replace("\x00", "").strip()[:MOST_CHARS]
    is_part = "HX-Request" in request.headers
    page = urlsplit(request.headers.get("HX-Current-URL", "")).path if is_part else ""
    groups = list(_groups(text, page, cast(User, request.user))) if text else []
    template = "palette/_found.html" if is_part else "palette/find.html"
    return render(request, template, {"text": text, "groups": groups, "most_chars": MOST_CHARS})


def _groups(text: str, page: str, user: User) -> Iterator[Group]:
    yield from quoting(text)
    yield from jobs(text, page)
    yield from hosts(text)
    yield from places(text, is_admin(user))
    yield from settings(text)
