"""How fresh the data is, for the footer of every page."""

from typing import Any

from django.http import HttpRequest


def pipeline_status(request: HttpRequest) -> dict[str, Any]:
    return {"pipeline_status": None}
