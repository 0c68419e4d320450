"""Commands that write leave an entry, too: by whom of the operating system, with which options."""

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.core.management.base import CommandError

from webapp.accounts.audit import entered_fields, entries
from webapp.accounts.audit.actions import COMMANDS
from webapp.accounts.models import AuditEntry
from webapp.config import preparation

Outcome = AuditEntry.Outcome
_learned: ContextVar[dict[str, Any]] = ContextVar("learned")


def connect() -> None:
    preparation.surround(noted)


@contextmanager
def noted(name: str, options: dict[str, Any]) -> Iterator[None]:
    """``name``: of the command."""
    code, writing = COMMANDS.get(name, ("", ()))
    if not code or (writing and not any(options.get(option) for option in writing)):
        yield
        return
    details = entered_fields.details(options, code)
    entry = entries.of_command(
        code, who(), entered_fields.subject(details), {**details, "command": name}
    )
    outcome, status, learned = Outcome.FAILED, 1, dict[str, Any]()
    details_token = _learned.set(learned)
    try:
        yield
        outcome, status = Outcome.DONE, 0
    except CommandError as error:
        outcome = Outcome.REFUSED if error.returncode == preparation.REFUSED else Outcome.FAILED
        status = error.returncode
        raise
    except SystemExit as ending:
        status = ending.code if isinstance(ending.code, int) else 1
        outcome = {0: Outcome.DONE, preparation.REFUSED: Outcome.REFUSED}.get(
            status, Outcome.FAILED
        )
        raise
    finally:
        _learned.reset(details_token)
        more = entered_fields.details(learned)
        AuditEntry.objects.end(
            entry.pk,
            more and {**details, **more, "command": name},
            entered_fields.subject(more),
            outcome=outcome,
            status=status,
        )


def learn(**entered: Any) -> None:
    """For the entry of the command that runs: what it was not given as an option, but asked for."""
    _learned.get({}).update(entered)


def who() -> str:
    """Whoever runs it, as the operating system knows them; a container may know nobody by that
    number.
    """
    try:
        return f"{getpass.getuser()} (command line)"
    except (KeyError, OSError, ImportError):
        return "command line"
