"""Print what a root keeps because nobody deletes it."""

from collections.abc import Iterator
from typing import Any

from webapp.lib.quantities import bytes_text, duration_text
from webapp.storage.api.retention import as_document
from webapp.storage.models import RootFigures
from webapp.storage.retention import Retention, retention
from webapp.storage.root_command import RootCommand


class Command(RootCommand):
    help = (
        "Print the savepoints of ROOT by age, ended jobs that keep checkpoints, what jobs that have not ended retain, and how old the "
        "oldest file is that one of them needs, by its newest audit. Nothing is deleted. Exit code 0, 2 where there is no audit."
    )

    def read(self, figures: RootFigures) -> Retention:
        return retention(figures)

    def document(self, found: Retention) -> Any:
        return as_document(found)

    def words(self, found: Retention) -> Iterator[str]:
        return _words(found)


def _words(found: Retention) -> Iterator[str]:
    yield f"{found.root_uri} at the audit of {found.as_of.isoformat()}"
    yield f"the oldest file that a job which has not ended needs: {duration_text(found.unsafe_age_ms)} old"
    for savepoint in found.savepoints:
        size, age = bytes_text(savepoint.bytes), duration_text(savepoint.age_ms)
        yield f"  savepoint  {age:>12} {size:>10}  {savepoint.standing:<11} {savepoint.path}"
    for job in found.ended:
        size, age = bytes_text(job.bytes), duration_text(job.idle_ms)
        yield f"  ended job  {age:>12} {size:>10}  {job.standing:<11} {job.name or ''} {job.job_id} ({job.state or 'state not known'})"
    for one in found.running:
        kept = {True: "retained", False: "deleted", None: "not known"}[one.retained_on_cancellation]
        size, age = bytes_text(one.bytes), duration_text(one.oldest_file_age_ms)
        yield f"  job        {age:>12} {size:>10}  {one.name or ''} {one.job_id}, when cancelled: {kept}"
    for line in found.unknown:
        yield f"  ? {line}"
