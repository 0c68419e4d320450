import uuid
from collections.abc import Iterable
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext

from ingest.local_directories import refusal_of_tree
from ingest.storage.identities import overlapping
from ingest.storage.roots import Root
from ingest.uris import BadUri, canonical, is_below
from webapp.checkpoints.models import CheckpointFact
from webapp.config.schedule import TICK_S
from webapp.fleet.models import JobCurrent
from webapp.lib import scopes
from webapp.lib.messages.rendering import localised
from webapp.lib.refusals import InputRefused
from webapp.replication.models import Replica
from webapp.storage.auditing.audit_request import spellings
from webapp.storage.models import StorageRoot

DEFAULT_EVERY_S = 300
LEAST_EVERY_S, MOST_EVERY_S = TICK_S, 7 * 86_400
"""Due work is checked once per tick, so shorter intervals are impossible."""


def source_of(job: JobCurrent) -> str:
    """The directory of the job's newest checkpoints, canonical. Raises :class:`InputRefused`."""
    done = CheckpointFact.objects.filter(
        cluster=job.cluster, job_id=job.job_id, external_path__isnull=False, is_savepoint=False
    )
    path = done.order_by("-trigger_time").values_list("external_path", flat=True).first()
    if not path:
        raise InputRefused(
            {
                "source": gettext(
                    "Where its checkpoints lie is not known: none with a path was seen. Name the "
                    "directory of the job."
                )
            }
        )
    return canonical(str(path), spellings()).rpartition("/")[0]


def register(
    job: JobCurrent,
    destination: str,
    *,
    name: str,
    at: datetime,
    read_at: str = "",
    source: str = "",
    every_s: int | None = None,
) -> Replica:
    """Register the copy of a job; a stopped one is resumed, or replaced by one elsewhere. Raises
    :class:`InputRefused`. ``every_s``: None keeps the current one, by default ``DEFAULT_EVERY_S``.
    The requester's scope is saved: rounds only read what it allows.
    """
    if every_s is not None:
        _refuse_interval(every_s)
    try:
        place = Root.of(destination, read_at or None, spellings())
        source = canonical(source, spellings()) if source else source_of(job)
    except BadUri as error:
        raise InputRefused({"destination": str(error)}) from error
    if refused := refusal_of_tree(read_at or place.uri):
        raise InputRefused({"destination": localised(refused)})
    if not StorageRoot.objects.exists() or not any(
        is_below(source, root) for root in StorageRoot.objects.values_list("uri", flat=True)
    ):
        raise InputRefused(
            {
                "source": gettext(
                    "%(source)s is below no registered storage root; register its root first "
                    "(manage.py add_storage_root)."
                )
                % {"source": source}
            }
        )
    known = Replica.objects.filter(cluster=job.cluster, job_id=job.job_id).first()
    is_new = known is None or (canonical(known.destination, spellings()), known.source) != (
        place.uri,
        source,
    )
    _refuse_taken(
        place,
        Replica.objects.exclude(cluster=job.cluster, job_id=job.job_id)
        if known is None or is_new
        else earlier(known),
    )
    if known and is_new and known.enabled:
        raise InputRefused(
            {
                "destination": gettext(
                    "The job is copied to %(destination)s already; stop that first (--stop)."
                )
                % {"destination": known.destination}
            }
        )
    asked = {
        "source": source,
        "destination": destination.rstrip("/"),
        "read_at": read_at,
        "created_at": at,
        "created_name": name[:200],
    }
    every_s = every_s or (known.every_s if known else DEFAULT_EVERY_S)
    try:
        with transaction.atomic():
            if known and is_new:
                known.delete()
            row, _ = Replica.objects.get_or_create(
                cluster=job.cluster,
                job_id=job.job_id,
                defaults={"name": uuid.uuid4().hex, "every_s": every_s, **asked},
            )
    except IntegrityError:  # somebody else requested the same place at the same time
        raise _name_taken() from None
    scope = scopes.current()
    row.asker_clusters = None if scope.is_everything else sorted(scope.clusters)
    row.every_s, row.enabled = every_s, True
    row.save(update_fields=["every_s", "enabled", "asker_clusters"])
    return row


def _refuse_interval(every_s: int) -> None:
    if not LEAST_EVERY_S <= every_s <= MOST_EVERY_S:
        raise InputRefused(
            {
                "every": gettext("Give %(least_every_s)s to %(most_every_s)s seconds.")
                % {"least_every_s": LEAST_EVERY_S, "most_every_s": f"{MOST_EVERY_S:,}"}
            }
        )


def _refuse_taken(place: Root, others: QuerySet[Replica]) -> None:
    with scopes.everything():
        taken = [
            *(root.place for root in StorageRoot.objects.all()),
            *places_of(others),
        ]
    if any(overlapping(place, root, spellings()) for root in taken):
        raise _name_taken()


def earlier(copy: Replica) -> QuerySet[Replica]:
    """Earlier requested copies: of two that overlap, the first keeps its place."""
    return Replica.objects.filter(pk__lt=copy.pk)


def places_of(copies: Iterable[Replica]) -> list[Root]:
    """Places where no other copy may be written, besides roots: copies and quarantines."""
    quarantines = StorageRoot.objects.exclude(quarantine_uri="").values_list(
        "quarantine_uri", flat=True
    )
    return [
        *map(Root, quarantines),
        *(Root.of(copy.destination, copy.read_at or None, spellings()) for copy in copies),
    ]


def _name_taken() -> InputRefused:
    return InputRefused(
        {
            "destination": gettext(
                "That place is taken: name a directory outside storage roots and other copies."
            )
        }
    )
