from django.http import HttpRequest


def parameter(request: HttpRequest, name: str) -> str:
    """Empty if absent; without NUL, which PostgreSQL refuses."""
    return request.GET.get(name, "").replace("\x00", "")[:4_000]
