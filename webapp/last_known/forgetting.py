"""Who is to be shown nothing any more of what was kept: whoever signed out, is closed, or may do or see something else from now on.

An instant is left for them in Redis. What was kept, or seen in the database, before it is refused: also what a request keeps that had
begun before. It is noted in the home before anything else (``to_forget.py``): where Redis is away just then, or this process dies,
whichever process of the home serves the next page tells Redis, and until then none keeps or shows anything.
"""

import logging
import threading
import time
from functools import partial
from typing import Any

from django.conf import settings
from django.db.transaction import get_connection, on_commit

from webapp.accounts.models import User
from webapp.last_known import to_forget
from webapp.last_known.redis_side import AGES, ANSWERS, BYTES, EVERYBODY, FORGET, OF_ACCOUNT, SCOPED, asked, gone_key, is_on, kept_s
from webapp.last_known.viewers import session_name

CLOCKS_DIFFER_S = 2.0
"""Several machines may serve pages."""
VISITS = {"last_login"}
LABELS = "labels"

logger = logging.getLogger(__name__)
_unwritten: set[str] = set()
"""Who is to be forgotten of whom the disk took no note."""
_lock = threading.Lock()


def forget(who: str) -> None:
    """At once, and again when what was written about them is seen by others: a request may read the old row in between."""
    if not is_on():
        return
    is_begun = get_connection().in_atomic_block
    note = _noted(who, is_begun=is_begun)
    _tell()
    if is_begun:
        on_commit(partial(_again, who, note))


def forget_session(key: str | None) -> None:
    if key and is_on():
        _noted(session_name(key), is_begun=False)
        _tell()


def is_done() -> bool:
    """Whether all are forgotten who were to be, by this process or another one of its home."""
    try:
        notes = to_forget.notes()
    except OSError:
        return False
    for note in notes:
        if not _is_told(note.who):
            return False
        note.is_told()
    for who in list(_unwritten):
        if not _is_told(who):
            return False
        with _lock:
            _unwritten.discard(who)
    return True


def account_changed(sender: Any, user_id: int, **_about: Any) -> None:
    forget(str(user_id))


def account_saved(sender: Any, instance: User, update_fields: Any = None, created: bool = False, **_about: Any) -> None:
    if not created and not (update_fields and set(update_fields) <= VISITS):
        forget(str(instance.pk))


def groups_changed(sender: Any, instance: Any, action: str, reverse: bool, pk_set: set[int] | None, **_about: Any) -> None:
    """Of a person, or the people of a group."""
    if action.startswith("post_"):
        for account in [instance.pk] if not reverse else (pk_set or ()):
            forget(str(account))
        if reverse and not pk_set:
            forget(EVERYBODY)


def group_changed(sender: Any, created: bool = False, **_about: Any) -> None:
    if not created:
        forget(EVERYBODY)


def cluster_changed(sender: Any, update_fields: Any = None, created: bool = False, **_about: Any) -> None:
    """Who sees a cluster goes by its labels."""
    if not created and (update_fields is None or LABELS in update_fields):
        forget(SCOPED)


def signed_out(sender: Any, request: Any, **_about: Any) -> None:
    """The session is flushed after this is heard."""
    if request is not None:
        forget_session(request.session.session_key)


def signed_in(sender: Any, request: Any, **_about: Any) -> None:
    """Whose session it was before, in the same browser, is over: it was flushed, and only the cookie tells which."""
    if request is not None:
        forget_session(request.COOKIES.get(settings.SESSION_COOKIE_NAME))


def _noted(who: str, *, is_begun: bool) -> to_forget.Note | None:
    try:
        return to_forget.Note.write(who, is_begun=is_begun)
    except OSError as error:
        logger.error(
            "That kept pages of %s are to go cannot be noted in WEIR_HOME (%s): it is lost if Redis is away and this process ends.",
            who, error.strerror,
        )  # fmt: skip
        with _lock:
            _unwritten.add(who)
        return None


def _again(who: str, note: to_forget.Note | None) -> None:
    if note:
        note.change_is_seen()
    else:
        with _lock:
            _unwritten.add(who)
    _tell()


def _tell() -> None:
    if not is_done():
        logger.warning("Redis does not answer: whose kept pages are to go is noted in WEIR_HOME; until Redis knows, none is shown.")


def _is_told(who: str) -> bool:
    keys = [ANSWERS, AGES, BYTES, gone_key(who)]
    told = [OF_ACCOUNT, who, time.time() + CLOCKS_DIFFER_S, kept_s()]
    return asked(partial(_run, keys, told)) is not None


def _run(keys: list[str], told: list[Any], redis: Any) -> Any:
    return redis.eval(FORGET, len(keys), *keys, *told)
