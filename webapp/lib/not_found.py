"""What is said where nothing is found; the same for missing rows and those out of scope."""

import re

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import Resolver404
from django.utils.translation import gettext

_OF_DJANGO = re.compile(r"No \w+ matches the given query\.")
"""The words of ``get_object_or_404``, of Django and of DRF."""


def sentence(error: Http404) -> str:
    """Empty if no address fits at all."""
    if isinstance(error, Resolver404):
        return ""
    if not _OF_DJANGO.fullmatch(str(error)):
        return str(error)
    return gettext(
        "There is nothing at this address: it never existed, was removed, or you may not see it."
    )


def page(request: HttpRequest, exception: Http404) -> HttpResponse:
    """Django's ``handler404``."""
    return render(request, "404.html", {"sentence": sentence(exception)}, status=404)
