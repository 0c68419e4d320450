"""Jobs by a part of their name or the beginning of their id, and a checkpoint of them where a
number stands behind it.
"""

import re
from collections.abc import Iterable, Iterator

from django.db.models import Q
from django.urls import Resolver404, resolve, reverse
from django.utils.translation import gettext

from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.attempts import has_id_like
from webapp.fleet.models import JobCurrent
from webapp.lib.filters import words
from webapp.lib.instants import epoch_ms
from webapp.lib.row_numbers import LARGEST
from webapp.site.palette.hits import MOST_OF_GROUP, Group, Hit

LONGEST_NAME = 200
_WITH_ID = re.compile(r"(?P<name>.*?)(?:^|[\s#]|chk-)+(?P<id>[0-9]{1,19})\s*", re.ASCII | re.DOTALL)
_JobKey = tuple[str, str]


def jobs(text: str, page: str) -> Iterator[Group]:
    """``page``: the path of the page that asks.

    On one of a job, a number alone is of its checkpoints. At most four queries.
    """
    if len(text) > LONGEST_NAME:
        return
    named = _named(text)
    if named:
        yield Group(
            gettext("Jobs"),
            [Hit(job.name or job.job_id, _address(job), _detail(job)) for job in named],
        )
    wanted = _WITH_ID.fullmatch(text)
    if wanted is None or int(wanted["id"]) > LARGEST:
        return
    name, checkpoint_id = wanted["name"].strip(), int(wanted["id"])
    of = _named(name) if name else _of_page(page)
    hits = list(_checkpoints(checkpoint_id, of))
    if hits:
        yield Group(gettext("Checkpoints"), hits)
    elif of:
        yield Group(
            gettext("Checkpoints"),
            note=gettext("No checkpoint %(checkpoint_id)s of %(job)s is stored.")
            % {
                "checkpoint_id": checkpoint_id,
                "job": gettext("these jobs") if len(of) > 1 else gettext("this job"),
            },
        )
    elif not name and not named:
        yield Group(
            gettext("Checkpoints"),
            note=gettext(
                "Put the name of a job before the number, such as payments %(checkpoint_id)s."
            )
            % {"checkpoint_id": checkpoint_id},
        )


def _named(text: str) -> list[JobCurrent]:
    newest = JobCurrent.objects.newest_attempts()
    jobs = newest.filter(Q(name__icontains=text) | has_id_like(text.lower()))
    return list(
        jobs.only("cluster", "job_id", "name", "state", "terminal").order_by(
            "terminal", "-last_seen_at", "id"
        )[:MOST_OF_GROUP]
    )


def _of_page(page: str) -> list[JobCurrent]:
    try:
        place = resolve(page).kwargs
    except Resolver404:
        return []
    if not {"cluster", "job_id"} <= place.keys():
        return []
    return list(
        JobCurrent.objects.filter(cluster=place["cluster"], job_id=place["job_id"]).only(
            "cluster", "job_id", "name"
        )
    )


def _checkpoints(checkpoint_id: int, of: Iterable[JobCurrent]) -> Iterator[Hit]:
    names: dict[_JobKey, str] = {(job.cluster, job.job_id): job.name or job.job_id for job in of}
    facts = CheckpointFact.objects.filter(
        checkpoint_id=checkpoint_id,
        cluster__in={cluster for cluster, _ in names},
        job_id__in={job_id for _, job_id in names},
    )
    for fact in facts.only(
        "cluster", "job_id", "checkpoint_id", "trigger_time", "outcome"
    ).order_by("-trigger_time")[: 2 * MOST_OF_GROUP]:
        name = names.get((fact.cluster, fact.job_id))
        if name:
            address = reverse(
                "checkpoint",
                args=[fact.cluster, fact.job_id, checkpoint_id, epoch_ms(fact.trigger_time)],
            )
            yield Hit(
                gettext("%(name)s, checkpoint %(checkpoint_id)s")
                % {"name": name, "checkpoint_id": checkpoint_id},
                address,
                f"{words(fact.outcome)} · {fact.cluster}",
            )


def _address(job: JobCurrent) -> str:
    return reverse("job", args=[job.cluster, job.job_id])


def _detail(job: JobCurrent) -> str:
    return f"{job.cluster} · {words((job.state or 'unknown').lower())} · {job.job_id[:8]}"
