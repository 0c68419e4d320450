from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase


class Middleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
