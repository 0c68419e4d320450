"""Jobs by a part of their name or the beginning of their id, with a checkpoint or an analysis named
beside it.
"""

import re
from collections.abc import Iterable, Iterator
from urllib.parse import urlencode

from django.db.models import F
from django.urls import Resolver404, resolve, reverse
from django.utils.translation import gettext, ngettext

from webapp.analyses.registry import all_analyses
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.attempts import like
from webapp.fleet.models import JobCurrent
from webapp.lib.filters import words
from webapp.lib.instants import epoch_ms
from webapp.lib.messages.rendering import localised
from webapp.lib.row_numbers import LARGEST
from webapp.site.palette.hits import MOST_OF_GROUP, Group, Hit, has_words

LONGEST_NAME = 200
MOST_READ = 20 * MOST_OF_GROUP
"""Attempts and submissions of what is shown as one job."""
_NUMBER = re.compile(r"(?:chk-?|#)?(?P<id>[0-9]{1,19})", re.ASCII)
_BEFORE_NUMBER = frozenset(("chk", "#", "checkpoint", "savepoint"))
_MOST_WORDS = 3
"""Of an analysis behind the name of a job."""
_JobKey = tuple[str, str]


def jobs(text: str, page: str) -> Iterator[Group]:
    """``page``: the path of the current page. On a job's page a single number means its checkpoint.
    At most four queries.
    """
    if len(text) > LONGEST_NAME:
        return
    named = _find_named(text)
    if named:
        hits = [
            Hit(job.name or job.job_id, _address(job), _detail(job, count)) for job, count in named
        ]
        if len(named) > 1:
            query = urlencode({"q": text})
            hits.append(Hit(gettext("All of them in the fleet"), f"{reverse('fleet')}?{query}"))
        yield Group(gettext("Jobs"), hits)
    yield from _analyses(text, page)
    name, number = _name_and_number(text)
    if number is None or number > LARGEST:
        return
    checkpoint_id = number
    of = _submissions(name) if name else _jobs_of_page(page)
    hits = list(_checkpoints(checkpoint_id, of))
    if hits:
        yield Group(gettext("Checkpoints"), hits)
    elif of:
        is_single = len({job.name or job.job_id for job in of}) == 1
        yield Group(
            gettext("Checkpoints"),
            note=gettext("No checkpoint %(checkpoint_id)s of %(job)s is stored.")
            % {
                "checkpoint_id": checkpoint_id,
                "job": gettext("this job") if is_single else gettext("these jobs"),
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


def _name_and_number(text: str) -> tuple[str, int | None]:
    """'payments chk 812', 'payments #812' and '812 payments' alike."""
    parts = text.split()
    behind = [at + 1 for at, part in enumerate(parts[:-1]) if part.lower() in _BEFORE_NUMBER]
    for place in dict.fromkeys((*behind, len(parts) - 1, 0)):
        match = _NUMBER.fullmatch(parts[place].lower())
        if match:
            rest = [part for at, part in enumerate(parts) if at != place]
            name = " ".join(part for part in rest if part.lower() not in _BEFORE_NUMBER)
            return name, int(match["id"])
    return text, None


def _submissions(text: str) -> list[JobCurrent]:
    """The newest attempt of each job: running ones first, the worst of them first."""
    newest = JobCurrent.objects.newest_attempts()
    rows = newest.filter(like(text))
    order = ("terminal", F("health").asc(nulls_last=True), "-last_seen_at", "id")
    return list(
        rows.only("cluster", "job_id", "name", "state", "terminal").order_by(*order)[:MOST_READ]
    )


def _find_named(text: str) -> list[tuple[JobCurrent, int]]:
    by_job: dict[_JobKey, list[JobCurrent]] = {}
    for job in _submissions(text):
        by_job.setdefault((job.cluster, job.name or job.job_id), []).append(job)
    return [(of[0], len(of)) for of in list(by_job.values())[:MOST_OF_GROUP]]


def _analyses(text: str, page: str) -> Iterator[Group]:
    parts = text.split()
    of = _jobs_of_page(page)
    wanted = _about(parts) if of else []
    for count in range(min(len(parts) - 1, _MOST_WORDS), 0, -1):
        if wanted:
            break
        if (wanted := _about(parts[-count:])) and not (
            of := [job for job, _ in _find_named(" ".join(parts[:-count]))]
        ):
            return
    if wanted and of:
        yield Group(
            gettext("Analyses"),
            [
                Hit(title, reverse(name, args=[job.cluster, job.job_id]), job.name or job.job_id)
                for job in of
                for name, title in wanted
            ][:MOST_OF_GROUP],
        )


def _about(parts: list[str]) -> list[tuple[str, str]]:
    return [
        (name, localised(analysis.title))
        for name, analysis in all_analyses().items()
        if has_words(f"{name} {analysis.title} {localised(analysis.title)} {analysis.tab}", parts)
    ]


def _jobs_of_page(page: str) -> list[JobCurrent]:
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


def _detail(job: JobCurrent, submissions: int) -> str:
    parts = [job.cluster, words((job.state or "unknown").lower()), job.job_id[:8]]
    if submissions > 1:
        times = ngettext(
            "the newest of %(count)s submission",
            "the newest of %(count)s submissions",
            submissions,
        )
        parts.append(times % {"count": submissions})
    return " · ".join(parts)
