"""Actions of people that cannot be done now, as pages, API and commands report them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from django.contrib import messages
from django.http import HttpRequest


class ActionRefused(ValueError):
    """Nothing was done. The message says why and is safe to show."""


class InputRefused(ActionRefused):
    """What was entered cannot be used, whatever the state of things.

    ``fields``: what is wrong, by field, where that is known.
    """

    def __init__(self, wrong: str | Mapping[str, str]) -> None:
        self.fields: Mapping[str, str] = (
            {name: str(why) for name, why in wrong.items()} if isinstance(wrong, Mapping) else {}
        )
        super().__init__(
            " ".join(self.fields.values()) if isinstance(wrong, Mapping) else str(wrong)
        )


@contextmanager
def refusal_as_message(request: HttpRequest) -> Iterator[None]:
    """What follows the action in the body is left out where it is refused; the next page says
    why.
    """
    try:
        yield
    except ActionRefused as refused:
        messages.error(request, str(refused))
