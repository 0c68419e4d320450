"""What people ask Flink for by a page: a row for each, wanted until a collect cycle has its answer,
and not again too soon.

The models have ``cluster``, ``wanted_at``, ``wanted_by``, ``ask_at`` (``None``: settled), ``asked``
and ``answered_at``.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, models, transaction
from django.db.models import Q

GIVEN_UP_AFTER = timedelta(hours=1)
"""A cluster that is not collected is not asked; when it comes back, nobody waits any more."""
MOST_WANTED = 500


def want(
    model: type[models.Model],
    key: Mapping[str, object],
    now: datetime,
    by: str,
    not_before: timedelta,
    **about: object,
) -> bool:
    """Whether it will be asked for now; False where it is already, or was answered less than
    ``not_before`` ago.
    """
    rows: Any = model._default_manager
    wanted = {"wanted_at": now, "wanted_by": by[:150], "ask_at": now, "asked": 0, **about}
    settled = rows.filter(Q(ask_at=None) | Q(wanted_at__lte=now - GIVEN_UP_AFTER), **key)
    if settled.exclude(answered_at__gt=now - not_before).update(**wanted):
        return True
    try:
        with transaction.atomic():
            _row, made = rows.get_or_create(**key, defaults=wanted)
    except IntegrityError:  # another request made it meanwhile
        return False
    return bool(made)


def due(
    model: type[models.Model],
    columns: tuple[str, ...],
    clusters: Iterable[str],
    now: datetime,
    most_of_cluster: int,
) -> dict[str, list[tuple[Any, ...]]]:
    """By cluster the ``columns`` of what is due, who waits longest first."""
    rows: Any = model._default_manager
    waiting = rows.filter(
        cluster__in=list(clusters), ask_at__lte=now, wanted_at__gt=now - GIVEN_UP_AFTER
    ).order_by("ask_at", "pk")
    requests: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for cluster, *asked in waiting.values_list("cluster", *columns)[:MOST_WANTED]:
        if len(requests[cluster]) < most_of_cluster:
            requests[cluster].append(tuple(asked))
    return dict(requests)
