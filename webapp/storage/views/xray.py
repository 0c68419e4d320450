"""The X-ray of one checkpoint or savepoint, read from its ``_metadata``."""

import logging
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from ingest.errors import IngestError
from ingest.metadata.summary import job_id_of, owner_directory
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import JobCurrent
from webapp.lib.instants import epoch_ms
from webapp.storage.badges import NO, PLAIN_NO, answer
from webapp.storage.directory_owners import owner_of
from webapp.storage.models import CheckpointStorage
from webapp.storage.newest_audits import latest_audits
from webapp.storage.replication_factor import factor_of_path
from webapp.storage.views.parameters import parameter
from webapp.storage.xray import xray_cache, xray_treemap
from webapp.storage.xray.contents import Xray
from webapp.storage.xray.location import NotLocated, located

log = logging.getLogger(__name__)

OTHERS_SHOWN = 60
JOBS_NAMED = 20
OPERATORS_SHOWN = 100
STATES_SHOWN = 100


@require_GET
def xray(request: HttpRequest) -> HttpResponse:
    """``path`` names the checkpoint, ``with`` another one to compare with."""
    written, other = (parameter(request, name) for name in ("path", "with"))
    context: dict[str, Any] = {"written": written, "now": timezone.now()}
    status = 200
    try:
        file = located(written)
        context |= _contents(request, file.path, xray_cache.xray(file))
        if other:
            context |= _compared(file, other)
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
        "treemap": xray_treemap.treemap(contents, names),
        "treemap_narrow": xray_treemap.treemap(contents, names, xray_treemap.NARROW),
        "operators": [
            (operator, xray_treemap.name_of(operator, names))
            for operator in contents.operators[:OPERATORS_SHOWN]
        ],
        "more_operators": max(len(contents.operators) - OPERATORS_SHOWN, 0)
        + contents.operators_left_out,
        "states": [
            (
                state,
                state.operator_name
                or names.get(state.operator_id)
                or gettext("operator %(operator_id)s") % {"operator_id": state.operator_id[:8]},
            )
            for state in contents.states[:STATES_SHOWN]
        ],
        "more_states": max(len(contents.states) - STATES_SHOWN, 0) + contents.states_left_out,
        "others": _others(directory, path) if job_id else [],
        "most_files": max((bucket.files for bucket in contents.sizes), default=0),
        "jobs": _names_of(contents),
        "replicated": factor_of_path(path),
    }


def _compared(file: Any, other: str) -> dict[str, Any]:
    """A second one that cannot be read leaves the first as it is."""
    try:
        beside = located(other)
        return {"beside": xray_cache.xray(beside), "compared": xray_cache.comparison(file, beside)}
    except NotLocated as error:
        return {"not_compared": str(error)}
    except (IngestError, OSError) as error:
        return {
            "not_compared": gettext("%(other)s could not be read: %(error)s")
            % {"other": other, "error": error}
        }


def _fact(job: JobCurrent | None, contents: Xray) -> Any:
    """The page of the same checkpoint, where it is still known."""
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


def _others(directory: str, path: str) -> list[CheckpointStorage]:
    """Retained checkpoints of the same job, newest first."""
    of_audits = CheckpointStorage.objects.filter(audit__in=latest_audits())
    rows = of_audits.filter(metadata_path__startswith=f"{directory}/").exclude(
        metadata_path=path[:1000]
    )
    return list(
        rows.order_by("-checkpoint_id", "-id").only(
            "metadata_path", "checkpoint_id", "is_savepoint"
        )[:OTHERS_SHOWN]
    )


def _names_of(contents: Xray) -> dict[str, JobCurrent]:
    """By directory."""
    of_jobs = [directory.path for directory in contents.directories if directory.job_id][
        :JOBS_NAMED
    ]
    owners = {directory: owner_of(directory) for directory in of_jobs}
    return {directory: job for directory, job in owners.items() if job}
