"""Downloads for monitoring Weir and its jobs with Prometheus and Grafana."""

from pathlib import Path

from django.http import Http404, HttpRequest, HttpResponse

FOLDER = Path(__file__).parent.parent / "monitoring"
CONTENT_TYPES = {".yml": "application/yaml", ".json": "application/json"}


def download(request: HttpRequest, file: str) -> HttpResponse:
    path = next((path for path in FOLDER.iterdir() if path.name == file), None)
    if path is None or path.suffix not in CONTENT_TYPES:
        raise Http404
    answer = HttpResponse(path.read_bytes(), content_type=CONTENT_TYPES[path.suffix])
    answer["Content-Disposition"] = f'attachment; filename="{file}"'
    return answer
