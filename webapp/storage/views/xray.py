"""The X-ray of one checkpoint or savepoint, read from its ``_metadata``."""

import logging
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from ingest.errors import IngestError
from ingest.metadata.owners import job_id_of, owner_directory
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import JobCurrent
from webapp.lib.instants import epoch_ms
from webapp.storage.badges import NO, PLAIN_NO, answer
from webapp.storage.directory_owners import owner_of
from webapp.storage.models import CheckpointStorage
from webapp.storage.newest_audits import latest_audits
from webapp.storage.replication_factor import factor_of_path
from webapp.storage.views.parameters import parameter
from webapp.storage.xray import xray_cache
from webapp.storage.xray.contents import Xray
from webapp.storage.xray.location import NotLocated, located

log = logging.getLogger(__name__)

JOBS_NAMED = 20
OPERATORS_SHOWN = 100
STATES_SHOWN = 100


@require_GET
def xray(request: HttpRequest) -> HttpResponse:
    """``path`` names the checkpoint."""
    written = parameter(request, "path")
    context: dict[str, Any] = {"written": written, "now": timezone.now()}
    status = 200
    try:
        file = located(written)
        context |= _contents(request, file.path, xray_cache.xray(file))
    except NotLocated as error:
        context["refused"], status = str(error), 404
    except FileNotFoundError:
        context["refused"], status = (
            gettext(
                "%(written)s is not there any more: Flink deletes checkpoints that are replaced."
            )
            % {"written": written},
            404,
        )
    except (IngestError, OSError) as error:
        log.warning("%s could not be read: %s", written, error)
        context["refused"] = gettext("%(written)s could not be read: %(error)s") % {
            "written": written,
            "error": error,
        }
    return render(request, "storage/xray.html", context, status=status)


def _contents(request: HttpRequest, path: str, contents: Xray) -> dict[str, Any]:
    directory = owner_directory(path.rpartition("/")[0])
    job_id = job_id_of(directory) or ""
    job = owner_of(directory)
    names = {
        v["vertex_id"]: v.get("name") or ""
        for v in ((job.graph if job else None) or {}).get("vertices") or ()
        if v.get("vertex_id")
    }
    audited = (
        CheckpointStorage.objects.filter(audit__in=latest_audits(), metadata_path=path[:1000])
        .select_related("audit")
        .order_by("-id")
        .first()
    )
    return {
        "xray": contents,
        "path": path,
        "job": job,
        "job_id": job_id,
        "fact": _fact(job, contents),
        "audited": audited,
        "self_contained": answer(contents.self_contained, PLAIN_NO),
        "relocatable": answer(contents.relocatable, PLAIN_NO),
        "resolvable": answer(audited.resolvable if audited else None, NO),
        "operators": [
            (operator, _name_of(operator.operator_id, operator.name, names))
            for operator in contents.operators[:OPERATORS_SHOWN]
        ],
        "more_operators": max(len(contents.operators) - OPERATORS_SHOWN, 0)
        + contents.operators_left_out,
        "states": [
            (
                state,
                _name_of(state.operator_id, state.operator_name, names),
            )
            for state in contents.states[:STATES_SHOWN]
        ],
        "more_states": max(len(contents.states) - STATES_SHOWN, 0) + contents.states_left_out,
        "most_files": max((bucket.files for bucket in contents.sizes), default=0),
        "jobs": _names_of(contents),
        "replicated": factor_of_path(path),
    }


def _name_of(operator_id: str, known: str | None, names: dict[str, str]) -> str:
    return (
        known
        or names.get(operator_id)
        or gettext("operator %(operator_id)s") % {"operator_id": operator_id[:8]}
    )


def _fact(job: JobCurrent | None, contents: Xray) -> Any:
    if job is None:
        return None
    facts = CheckpointFact.objects.filter(
        cluster=job.cluster, job_id=job.job_id, checkpoint_id=contents.checkpoint_id
    )
    fact = (
        facts.order_by("-trigger_time")
        .only("cluster", "job_id", "checkpoint_id", "trigger_time")
        .first()
    )
    return (fact, epoch_ms(fact.trigger_time)) if fact else None


def _names_of(contents: Xray) -> dict[str, JobCurrent]:
    of_jobs = [directory.path for directory in contents.directories if directory.job_id][
        :JOBS_NAMED
    ]
    owners = {directory: owner_of(directory) for directory in of_jobs}
    return {directory: job for directory, job in owners.items() if job}
