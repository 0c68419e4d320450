"""Parameters of the storage pages: URIs, which are long and may hold any sign."""

from django.http import HttpRequest


def parameter(request: HttpRequest, name: str) -> str:
    """Empty if it is not given. PostgreSQL refuses NUL in texts."""
    return request.GET.get(name, "").replace("\x00", "")[:4_000]
