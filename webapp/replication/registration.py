import uuid
from collections.abc import Iterable
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext

from ingest.local_directories import refusal_of_tree
from ingest.storage.identities import overlapping
from ingest.storage.roots import Root
from ingest.uris import BadUri, is_below
from webapp.checkpoints.models import CheckpointFact
from webapp.config.schedule import TICK_S
from webapp.fleet.models import JobCurrent
from webapp.lib import scopes
from webapp.lib.messages.rendering import localised
from webapp.lib.refusals import InputRefused
from webapp.lib.storage_uris import canonical, spellings
from webapp.replication.models import Replica
from webapp.storage.models import StorageRoot

DEFAULT_EVERY_S = 300
LEAST_EVERY_S, MOST_EVERY_S = TICK_S, 7 * 86_400
"""Due work is checked once per tick, so shorter intervals are impossible."""


def source_of(job: JobCurrent) -> str:
    """The directory of the job's newest checkpoints, canonical. Raises :class:`InputRefused`."""
    facts = CheckpointFact.objects.filter(
        **job.identity, external_path__isnull=False, is_savepoint=False
    )
    path = facts.order_by("-trigger_time").values_list("external_path", flat=True).first()
    if not path:
        raise InputRefused(
            {
                "source": gettext(
                    "Where its checkpoints lie is not known: none with a path was seen. Name the "
                    "directory of the job."
                )
            }
        )
    return canonical(str(path)).rpartition("/")[0]


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
    """Register the copy of a job. A stopped copy is resumed, or replaced if the places differ.
    ``every_s``: None keeps the current interval, at first ``DEFAULT_EVERY_S``. Rounds only read
    what the requester's scope allows. Raises :class:`InputRefused`.
    """
    if every_s is not None:
        _refuse_interval(every_s)
    try:
        place = Root.of(destination, read_at or None, spellings())
        source = canonical(source) if source else source_of(job)
    except BadUri as error:
        raise InputRefused({"destination": str(error)}) from error
    if refusal := refusal_of_tree(read_at or place.uri):
        raise InputRefused({"destination": localised(refusal)})
    if not any(
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
    stored = Replica.objects.filter(**job.identity).first()
    is_new = stored is None or (canonical(stored.destination), stored.source) != (
        place.uri,
        source,
    )
    _refuse_taken(
        place,
        Replica.objects.exclude(**job.identity)
        if stored is None or is_new
        else earlier_copies(stored),
    )
    if stored and is_new and stored.enabled:
        raise InputRefused(
            {
                "destination": gettext(
                    "The job is copied to %(destination)s already; stop that first (--stop)."
                )
                % {"destination": stored.destination}
            }
        )
    columns = {
        "source": source,
        "destination": destination.rstrip("/"),
        "read_at": read_at,
        "created_at": at,
        "created_name": name[:200],
    }
    every_s = every_s or (stored.every_s if stored else DEFAULT_EVERY_S)
    try:
        with transaction.atomic():
            if stored and is_new:
                stored.delete()
            row, _ = Replica.objects.get_or_create(
                **job.identity,
                defaults={"name": uuid.uuid4().hex, "every_s": every_s, **columns},
            )
    except IntegrityError:  # somebody else requested the same place at the same time
        raise _place_taken() from None
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


def _refuse_taken(place: Root, copies: QuerySet[Replica]) -> None:
    with scopes.everything():
        occupied = [*(root.place for root in StorageRoot.objects.all()), *places_of(copies)]
    if any(overlapping(place, other, spellings()) for other in occupied):
        raise _place_taken()


def earlier_copies(copy: Replica) -> QuerySet[Replica]:
    """Copies that were requested before ``copy``, which keep their places if they overlap."""
    return Replica.objects.filter(pk__lt=copy.pk)


def places_of(copies: Iterable[Replica]) -> list[Root]:
    """Places outside of roots where no other copy may be written: ``copies`` and quarantines."""
    quarantines = StorageRoot.objects.exclude(quarantine_uri="").values_list(
        "quarantine_uri", flat=True
    )
    return [
        *map(Root, quarantines),
        *(Root.of(copy.destination, copy.read_at or None, spellings()) for copy in copies),
    ]


def _place_taken() -> InputRefused:
    return InputRefused(
        {
            "destination": gettext(
                "That place is taken: name a directory outside storage roots and other copies."
            )
        }
    )
