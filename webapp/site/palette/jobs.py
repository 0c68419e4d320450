"""Finds jobs by a part of their name or the beginning of their id, and a checkpoint or analysis of
a job: ``payments chk 812``, ``payments lag``.
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
"""Rows that are read, of which those of the same cluster and name are shown as one job."""
_NUMBER = re.compile(r"(?:chk-?|#)?(?P<id>[0-9]{1,19})", re.ASCII)
_BEFORE_NUMBER = frozenset(("chk", "#", "checkpoint", "savepoint"))
_MOST_WORDS = 3
"""How many words after the name of a job may mean an analysis."""
_JobKey = tuple[str, str]


def jobs(text: str, page: str) -> Iterator[Group]:
    """``page``: the path of the current page. On the page of a job, a number alone means a
    checkpoint of this job. At most four queries.
    """
    if len(text) > LONGEST_NAME:
        return
    matching = _find_jobs(text)
    if matching:
        hits = [
            Hit(
                job.name or job.job_id,
                reverse("job", args=[job.cluster, job.job_id]),
                _detail(job, count),
            )
            for job, count in matching
        ]
        if len(matching) > 1:
            query = urlencode({"q": text})
            hits.append(Hit(gettext("All of them in the fleet"), f"{reverse('fleet')}?{query}"))
        yield Group(gettext("Jobs"), hits)
    yield from _analyses(text, page)
    name, number = _name_and_number(text)
    if number is None or number > LARGEST:
        return
    checkpoint_id = number
    chosen_jobs = _submissions(name) if name else _jobs_of_page(page)
    hits = list(_checkpoints(checkpoint_id, chosen_jobs))
    if hits:
        yield Group(gettext("Checkpoints"), hits)
    elif chosen_jobs:
        is_single = len({job.name or job.job_id for job in chosen_jobs}) == 1
        yield Group(
            gettext("Checkpoints"),
            note=gettext("No checkpoint %(checkpoint_id)s of %(job)s is stored.")
            % {
                "checkpoint_id": checkpoint_id,
                "job": gettext("this job") if is_single else gettext("these jobs"),
            },
        )
    elif not name and not matching:
        yield Group(
            gettext("Checkpoints"),
            note=gettext(
                "Put the name of a job before the number, such as payments %(checkpoint_id)s."
            )
            % {"checkpoint_id": checkpoint_id},
        )


def _name_and_number(text: str) -> tuple[str, int | None]:
    """'payments chk 812', 'payments #812' and '812 payments' mean the same."""
    parts = text.split()
    after_chk = [at + 1 for at, part in enumerate(parts[:-1]) if part.lower() in _BEFORE_NUMBER]
    for index in dict.fromkeys((*after_chk, len(parts) - 1, 0)):
        match = _NUMBER.fullmatch(parts[index].lower())
        if match:
            name_parts = [part for at, part in enumerate(parts) if at != index]
            name = " ".join(part for part in name_parts if part.lower() not in _BEFORE_NUMBER)
            return name, int(match["id"])
    return text, None


def _submissions(text: str) -> list[JobCurrent]:
    """The newest attempt of each matching job: running jobs first, then by health."""
    newest = JobCurrent.objects.newest_attempts()
    rows = newest.filter(like(text))
    order = ("terminal", F("health").asc(nulls_last=True), "-last_seen_at", "id")
    return list(
        rows.only("cluster", "job_id", "name", "state", "terminal").order_by(*order)[:MOST_READ]
    )


def _find_jobs(text: str) -> list[tuple[JobCurrent, int]]:
    """A job of each cluster and name, and how many there are."""
    by_job: dict[_JobKey, list[JobCurrent]] = {}
    for job in _submissions(text):
        by_job.setdefault((job.cluster, job.name or job.job_id), []).append(job)
    return [(rows[0], len(rows)) for rows in list(by_job.values())[:MOST_OF_GROUP]]


def _analyses(text: str, page: str) -> Iterator[Group]:
    """Analyses of the page's job, else of the jobs that the words before the analysis name."""
    parts = text.split()
    chosen_jobs = _jobs_of_page(page)
    analyses = _matching_analyses(parts) if chosen_jobs else []
    for count in range(min(len(parts) - 1, _MOST_WORDS), 0, -1):
        if analyses:
            break
        if analyses := _matching_analyses(parts[-count:]):
            chosen_jobs = [job for job, _ in _find_jobs(" ".join(parts[:-count]))]
    if analyses and chosen_jobs:
        yield Group(
            gettext("Analyses"),
            [
                Hit(title, reverse(name, args=[job.cluster, job.job_id]), job.name or job.job_id)
                for job in chosen_jobs
                for name, title in analyses
            ][:MOST_OF_GROUP],
        )


def _matching_analyses(parts: list[str]) -> list[tuple[str, str]]:
    return [
        (name, localised(analysis.title))
        for name, analysis in all_analyses().items()
        if has_words(f"{name} {analysis.title} {localised(analysis.title)} {analysis.tab}", parts)
    ]


def _jobs_of_page(page: str) -> list[JobCurrent]:
    try:
        parameters = resolve(page).kwargs
    except Resolver404:
        return []
    if not {"cluster", "job_id"} <= parameters.keys():
        return []
    return list(
        JobCurrent.objects.filter(cluster=parameters["cluster"], job_id=parameters["job_id"]).only(
            "cluster", "job_id", "name"
        )
    )


def _checkpoints(checkpoint_id: int, jobs: Iterable[JobCurrent]) -> Iterator[Hit]:
    names: dict[_JobKey, str] = {(job.cluster, job.job_id): job.name or job.job_id for job in jobs}
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
