"""The text of 404 pages, the same for missing rows and for rows out of scope."""

import re

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import Resolver404
from django.utils.translation import gettext

_DEFAULT_TEXT = re.compile(r"No \w+ matches the given query\.")
"""The text of ``get_object_or_404``, of Django and of DRF."""


def sentence(error: Http404) -> str:
    """The text of the page; "" if no URL pattern matches."""
    if isinstance(error, Resolver404):
        return ""
    if not _DEFAULT_TEXT.fullmatch(str(error)):
        return str(error)
    return gettext(
        "There is nothing at this address: it never existed, was removed, or you may not see it."
    )


def page(request: HttpRequest, exception: Http404) -> HttpResponse:
    """Django's ``handler404``."""
    return render(request, "404.html", {"sentence": sentence(exception)}, status=404)
