"""Texts of scripts in the page's language; the scripts contain the English ones."""

from django.utils.translation import get_language, gettext, gettext_noop

WORDS = (
    gettext_noop("paused"),
    gettext_noop("a menu is open"),
    gettext_noop("this page has entries that are not sent"),
    gettext_noop("text is selected"),
    gettext_noop("■ Not refreshed"),
    gettext_noop("since {clock}: {why}."),
    gettext_noop("the server answered {status}"),
    gettext_noop("you are signed out; sign in again"),
    gettext_noop("the server cannot be reached"),
    gettext_noop("Refresh this page every 30 s again"),
    gettext_noop("Refreshed every 30 s; pause"),
    gettext_noop("The server answered {status}."),
    gettext_noop("This chart could not be drawn"),
    gettext_noop("{problem} Reload the page to try again."),
)


def page_words() -> dict[str, str]:
    """English text → translation; empty in English."""
    return {} if get_language() in ("en", None) else {word: gettext(word) for word in WORDS}
