import logging
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from ingest.errors import IngestError
from ingest.metadata.owners import owner_directory
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import JobCurrent
from webapp.lib.instants import epoch_ms
from webapp.storage.badges import NO, PLAIN_NO, answer
from webapp.storage.directory_owners import owner_of
from webapp.storage.newest_audits import latest_checkpoint
from webapp.storage.views.parameters import parameter
from webapp.storage.xray import xray_reader
from webapp.storage.xray.contents import Xray
from webapp.storage.xray.location import NotLocated, find_metadata

log = logging.getLogger(__name__)

JOBS_NAMED = 20


@require_GET
def xray(request: HttpRequest) -> HttpResponse:
    entered = parameter(request, "path")
    context: dict[str, Any] = {"written": entered, "now": timezone.now()}
    status = 200
    try:
        file = find_metadata(entered)
        context |= _contents(file.path, xray_reader.xray(file))
    except NotLocated as error:
        context["refused"], status = str(error), 404
    except FileNotFoundError:
        context["refused"], status = (
            gettext(
                "%(written)s is not there any more: Flink deletes checkpoints that are replaced."
            )
            % {"written": entered},
            404,
        )
    except (IngestError, OSError) as error:
        log.warning("%s could not be read: %s", entered, error)
        context["refused"] = gettext("%(written)s could not be read: %(error)s") % {
            "written": entered,
            "error": error,
        }
    return render(request, "storage/xray.html", context, status=status)


def _contents(path: str, contents: Xray) -> dict[str, Any]:
    job = owner_of(owner_directory(path.rpartition("/")[0]))
    names = job.given_names if job else {}

    def name_of(operator_id: str, name: str) -> str:
        unnamed = gettext("operator %(operator_id)s") % {"operator_id": operator_id[:8]}
        return name or names.get(operator_id) or unnamed

    audited = latest_checkpoint(path)
    return {
        "xray": contents,
        "path": path,
        "job": job,
        "fact": _fact(job, contents),
        "audited": audited,
        "self_contained": answer(contents.self_contained, PLAIN_NO),
        "relocatable": answer(contents.relocatable, PLAIN_NO),
        "resolvable": answer(audited.resolvable if audited else None, NO),
        "operators": [
            (operator, name_of(operator.operator_id, operator.name))
            for operator in contents.operators
        ],
        "operator_count": len(contents.operators) + contents.operators_left_out,
        "states": [
            (state, name_of(state.operator_id, state.operator_name)) for state in contents.states
        ],
        "jobs": {
            directory.path: owner_of(directory.path)
            for directory in contents.directories[:JOBS_NAMED]
            if not directory.own
        },
    }


def _fact(job: JobCurrent | None, contents: Xray) -> tuple[CheckpointFact, int] | None:
    if job is None:
        return None
    facts = CheckpointFact.objects.filter(**job.identity, checkpoint_id=contents.checkpoint_id)
    names = ("cluster", "job_id", "checkpoint_id", "trigger_time")
    fact = facts.order_by("-trigger_time").only(*names).first()
    return (fact, epoch_ms(fact.trigger_time)) if fact else None
