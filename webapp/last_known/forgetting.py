"""Who is to be shown nothing any more of what was kept: whoever signed out, is closed, or may do or see something else from now on.

An instant is left for them in Redis. What was kept, or seen in the database, before it is refused: also what a request keeps that had
begun before. Where Redis is away just then, this process tries again with its next page, and until then keeps and shows nothing.
"""

import logging
import threading
import time
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction

from webapp.accounts.models import User
from webapp.last_known.redis_side import AGES, ANSWERS, BYTES, EVERYBODY, FORGET, OF_ACCOUNT, SCOPED, asked, gone_key, is_on, kept_s
from webapp.last_known.viewers import session_name

CLOCKS_DIFFER_S = 2.0
"""Several machines may serve pages."""
VISITS = {"last_login"}
LABELS = "labels"

logger = logging.getLogger(__name__)
_owed: set[str] = set()
_lock = threading.Lock()


def forget(who: str) -> None:
    """At once, and again when what was written about them is seen by others: a request may read the old row in between."""
    _now(who)
    if transaction.get_connection().in_atomic_block:
        transaction.on_commit(partial(_now, who))


def forget_session(key: str | None) -> None:
    if key:
        _now(session_name(key))


def is_done() -> bool:
    """Whether all are forgotten who were to be."""
    for who in list(_owed):
        keys = [ANSWERS, AGES, BYTES, gone_key(who)]
        told = [OF_ACCOUNT, who, time.time() + CLOCKS_DIFFER_S, kept_s()]
        if asked(partial(_run, keys, told)) is None:
            return False
        with _lock:
            _owed.discard(who)
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


def _now(who: str) -> None:
    if not is_on():
        return
    with _lock:
        _owed.add(who)
    if not is_done():
        logger.warning("Redis does not answer: kept pages of %s are forgotten with the next page that this process serves.", who)


def _run(keys: list[str], told: list[Any], redis: Any) -> Any:
    return redis.eval(FORGET, len(keys), *keys, *told)
