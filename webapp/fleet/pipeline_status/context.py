from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from webapp.fleet.pipeline_status.status import recent_status


def pipeline_status(request: HttpRequest) -> dict[str, Any]:
    """Read on first use."""
    return {"pipeline_status": SimpleLazyObject(recent_status)}
