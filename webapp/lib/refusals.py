"""Errors of actions that refuse what a person wants, for pages, API and commands."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from django.contrib import messages
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.http import HttpRequest


class ActionRefused(ValueError):
    """Nothing was done. The message says why and is safe to show."""


class InputRefused(ActionRefused):
    """The input is invalid in any state. ``fields``: errors by field, if known."""

    def __init__(self, wrong: str | Mapping[str, str]) -> None:
        by_field = wrong if isinstance(wrong, Mapping) else {}
        self.fields: Mapping[str, str] = {name: str(why) for name, why in by_field.items()}
        super().__init__(
            " ".join(self.fields.values()) if isinstance(wrong, Mapping) else str(wrong)
        )


def refusal_text(error: Exception) -> str:
    """One line; of a ``ValidationError``, each message behind its field."""
    if isinstance(error, ValidationError) and hasattr(error, "error_dict"):
        return " ".join(
            f"{field}: {message}" if field != NON_FIELD_ERRORS else message
            for field, messages in error.message_dict.items()
            for message in messages
        )
    return " ".join(error.messages) if isinstance(error, ValidationError) else str(error)


@contextmanager
def refusal_as_message(request: HttpRequest) -> Iterator[None]:
    """If the action in this context is refused, the next page says why."""
    try:
        yield
    except ActionRefused as refused:
        messages.error(request, str(refused))
