"""Texts of scripts in the language of the page; the scripts themselves contain the English texts."""

from django.utils.translation import get_language, gettext

from webapp.lib.translations import marked

WORDS = marked(
    "paused",
    "a menu is open",
    "this page has entries that are not sent",
    "text is selected",
    "■ Not refreshed",
    "since {clock}: {why}.",
    "the server answered {status}",
    "you are signed out; sign in again",
    "the server cannot be reached",
    "Refresh this page every 30 s again",
    "Refreshed every 30 s; pause",
    "The server answered {status}.",
    "This chart could not be drawn",
    "{problem} Reload the page to try again.",
)


def page_words() -> dict[str, str]:
    """English text → translation; empty in English."""
    return {} if get_language() in ("en", None) else {word: gettext(word) for word in WORDS}
