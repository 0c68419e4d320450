"""Errors that REST framework lacks. They are not in :mod:`webapp.lib.api.errors`, since parsers
raise them, and REST framework imports the parsers first.
"""

from rest_framework import exceptions, status


class BodyTooLarge(exceptions.APIException):
    status_code = status.HTTP_413_REQUEST_ENTITY_TOO_LARGE
    default_code = "too_large"


class NotInstalled(exceptions.APIException):
    status_code = status.HTTP_501_NOT_IMPLEMENTED
    default_code = "not_installed"
