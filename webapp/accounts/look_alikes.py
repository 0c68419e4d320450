"""User names that people take for one another: nobody is to be let in beside ``admin`` as ``ADMIN`` or with a Cyrillic ``а``."""

import unicodedata

from django.contrib.auth import get_user_model

_LATIN = str.maketrans(
    dict(zip("авеѕіїјкмнорстухԁԛԝ", "abesiijkmhopctyxdqw", strict=True))
    | dict(zip("αβεζηικμνορτυχ", "abezhikmnoptyx", strict=True))
    | {"ı": "i", "ɡ": "g", "ɑ": "a"}
)
"""Small Cyrillic and Greek letters of which the small or the capital one looks like a Latin one (Unicode TR 39)."""
_FILLERS = "\u115f\u1160"
"""Letters of Hangul that are shown as nothing."""


def skeleton(name: str) -> str:
    """The same for names that look alike: without case, width, invisible characters and the script of a letter."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    shown = "".join(letter for letter in folded if unicodedata.category(letter)[0] not in ("C", "Z") and letter not in _FILLERS)
    return shown.translate(_LATIN)


def look_alike_of(name: str, pk: int = 0) -> str | None:
    """The name of somebody else than the person ``pk`` that looks like this one, and is another."""
    wanted = skeleton(name)
    names = get_user_model().objects.exclude(username=name).exclude(pk=pk).values_list("username", flat=True)
    return next((other for other in names.iterator(2_000) if skeleton(other) == wanted), None)
