"""What Prometheus and Grafana need to watch Weir itself, as files to take along."""

from pathlib import Path

from django.http import HttpRequest, HttpResponse

FOLDER = Path(__file__).parent.parent / "monitoring"


def alert_rules(request: HttpRequest) -> HttpResponse:
    return _download("weir.rules.yml", "application/yaml")


def dashboard(request: HttpRequest) -> HttpResponse:
    return _download("weir-dashboard.json", "application/json")


def _download(name: str, content_type: str) -> HttpResponse:
    answer = HttpResponse((FOLDER / name).read_bytes(), content_type=content_type)
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer
