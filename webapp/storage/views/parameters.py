"""Parameters of the storage pages: URIs, which are long and may contain any character."""

from django.http import HttpRequest


def parameter(request: HttpRequest, name: str) -> str:
    """Empty if absent; without NUL, which PostgreSQL refuses."""
    return request.GET.get(name, "").replace("\x00", "")[:4_000]
