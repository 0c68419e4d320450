"""Asking for a copy of a job's checkpoints, and what is checked first."""

import uuid
from datetime import datetime

from django.utils.translation import gettext

from ingest.local_directories import refusal_of_tree
from ingest.storage.identities import overlap
from ingest.storage.roots import local_path
from ingest.uris import BadUri, canonical, is_below
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import JobCurrent
from webapp.lib import scopes
from webapp.lib.refusals import InputRefused
from webapp.replication.models import Replica
from webapp.storage.auditing.audit_request import spellings
from webapp.storage.models import StorageRoot
from webapp.wording.translation import translated

DEFAULT_EVERY_S = 300
LEAST_EVERY_S, MOST_EVERY_S = 10, 7 * 86_400


def source_of(job: JobCurrent) -> str:
    """The directory that the job's newest checkpoint lies in, canonical. Raises :class:`InputRefused`."""
    done = CheckpointFact.objects.filter(cluster=job.cluster, job_id=job.job_id, external_path__isnull=False, is_savepoint=False)
    path = done.order_by("-trigger_time").values_list("external_path", flat=True).first()
    if not path:
        raise InputRefused(
            {"source": gettext("Where its checkpoints lie is not known: none with a path was seen. Name the directory of the job.")}
        )
    return canonical(str(path), spellings()).rpartition("/")[0]


def register(
    job: JobCurrent, destination: str, *, name: str, at: datetime, read_at: str = "", source: str = "", every_s: int = DEFAULT_EVERY_S
) -> Replica:
    """One copy of a job; one that was stopped goes on, or makes room for one elsewhere. Raises :class:`InputRefused`.

    What whoever asks sees now is kept with it: rounds read nothing else.
    """
    if not LEAST_EVERY_S <= every_s <= MOST_EVERY_S:
        raise InputRefused(
            {
                "every": gettext("Give %(least_every_s)s to %(most_every_s)s seconds.")
                % {"least_every_s": LEAST_EVERY_S, "most_every_s": f"{MOST_EVERY_S:,}"}
            }
        )
    try:
        place = canonical(destination, spellings())
        source = canonical(source, spellings()) if source else source_of(job)
    except BadUri as error:
        raise InputRefused({"destination": str(error)}) from error
    if refused := refusal_of_tree(read_at or place):
        raise InputRefused({"destination": translated(refused)})
    if not StorageRoot.objects.exists() or not any(is_below(source, root) for root in StorageRoot.objects.values_list("uri", flat=True)):
        raise InputRefused(
            {
                "source": gettext("%(source)s is below no registered storage root; register its root first (manage.py add_storage_root).")
                % {"source": source}
            }
        )
    _refuse_overlap(job, place, read_at)
    stopped = Replica.objects.filter(cluster=job.cluster, job_id=job.job_id).first()
    if stopped and (canonical(stopped.destination, spellings()), stopped.source) != (place, source):
        if stopped.enabled:
            raise InputRefused(
                {
                    "destination": gettext("The job is copied to %(destination)s already; stop that first (--stop).")
                    % {"destination": stopped.destination}
                }
            )
        stopped.delete()
    row, _ = Replica.objects.get_or_create(
        cluster=job.cluster,
        job_id=job.job_id,
        defaults={
            "name": uuid.uuid4().hex,
            "source": source,
            "destination": destination.rstrip("/"),
            "read_at": read_at,
            "every_s": every_s,
            "created_at": at,
            "created_name": name[:200],
        },
    )
    scope = scopes.current()
    row.asker_clusters = None if scope.is_everything else sorted(scope.clusters)
    row.every_s, row.enabled = every_s, True
    row.save(update_fields=["every_s", "enabled", "asker_clusters"])
    return row


def _refuse_overlap(job: JobCurrent, place: str, read_at: str) -> None:
    """A copy is written neither where checkpoints are nor where another copy is; each round checks the first again."""
    others = Replica.objects.exclude(cluster=job.cluster, job_id=job.job_id)
    taken = [(root.uri, root.read_at or root.uri, gettext("storage root")) for root in StorageRoot.objects.all()]
    taken += [(canonical(one.destination, spellings()), one.read_at or one.destination, gettext("copy at")) for one in others]
    for uri, reading, what in taken:
        if is_below(place, uri) or is_below(uri, place) or overlap(local_path(read_at or place), local_path(reading)):
            raise InputRefused(
                {
                    "destination": gettext("It overlaps the %(what)s %(uri)s: name a directory outside roots and copies.")
                    % {"what": what, "uri": uri}
                }
            )
