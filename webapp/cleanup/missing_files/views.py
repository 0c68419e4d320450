from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from ingest.uris import BadUri
from webapp.cleanup.missing_files.causes import LABELS, VERDICTS
from webapp.cleanup.missing_files.missing_file import retained_on_cancellation, triage
from webapp.storage.views.parameters import parameter


@require_GET
def missing_file(request: HttpRequest) -> HttpResponse:
    """The parameter ``path`` is a path, or an exception that contains one."""
    text = parameter(request, "path").strip()
    context: dict[str, object] = {"written": text}
    status = 200
    if text:
        try:
            triaged = triage(text)
        except BadUri as error:
            context["refused"], status = str(error), 404
        else:
            causes = [
                (VERDICTS[cause.verdict], LABELS[cause.key], cause.because)
                for cause in triaged.causes
            ]
            retained = retained_on_cancellation(triaged.owner)
            context |= {"triage": triaged, "causes": causes, "retained": retained}
    return render(request, "cleanup/missing_file.html", context, status=status)
