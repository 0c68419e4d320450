"""Answers a write with 409 if somebody else removed or created the same row after it was read."""

import logging

from django.core.exceptions import ObjectDoesNotExist
from django.db import DatabaseError, IntegrityError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render

from webapp.lib.middleware import Middleware

logger = logging.getLogger(__name__)


class Conflicts(Middleware):
    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        # Django itself, and no driver, raises a DatabaseError if a saved row is no longer there.
        is_gone = type(exception) is DatabaseError and exception.__cause__ is None
        is_conflict = is_gone or isinstance(exception, ObjectDoesNotExist | IntegrityError)
        if request.method in ("GET", "HEAD") or not is_conflict:
            return None
        logger.warning("The rows of a request changed meanwhile.", exc_info=exception)
        return render(request, "409.html", status=409)
