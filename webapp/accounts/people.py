"""Changes of people by the administrator ``by``. They raise ``ActionRefused``
(:mod:`webapp.lib.refusals`) if ``by`` may not do it, ``InputRefused`` for a wrong field.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction
from django.db.models import F, Q
from django.utils.translation import gettext

from webapp.accounts.models import ApiToken, User
from webapp.accounts.roles import GROUPS, Role
from webapp.lib import grants
from webapp.lib.matchers import BadMatcher
from webapp.lib.refusals import ActionRefused, InputRefused
from webapp.lib.translations import gettext_lazy as _

IS_YOURSELF = _(
    "This is you. Ask another administrator, so that nobody raises their own rights or locks "
    "themselves out."
)
IS_SUPERUSER = _("A superuser is changed by superusers alone.")
EVERYTHING, ONLY = "everything", "only"


def administrators() -> Q:
    return Q(is_active=True) & (
        Q(is_superuser=True) | Q(groups__name=Role.ADMIN.group, sees__isnull=True)
    )


def lock_administrators() -> None:
    """Only one transaction at a time changes administrators; SQLite has one writer anyway."""
    if connection.in_atomic_block:
        Group.objects.select_for_update().filter(name=Role.ADMIN.group).first()


def add(name: str, role: str, sees: str, lines: str) -> tuple[User, str]:
    """Returns the person and their first password."""
    user, password = User(username=name.strip(), sees=_scope(sees, lines)), _new_password()
    group = _group(role)
    user.set_password(password)
    try:
        user.full_clean(exclude=["password"])
        with transaction.atomic():
            user.save()
            user.groups.add(group)
    except ValidationError as error:
        raise InputRefused(
            {field: " ".join(texts) for field, texts in error.message_dict.items()}
        ) from None
    except IntegrityError:
        raise InputRefused(
            {"username": gettext("There is already a person with this name.")}
        ) from None
    return user, password


def change(by: User, user: User, role: str, sees: str, lines: str) -> None:
    """A superuser becomes an ordinary user."""
    group, scope = _group(role), _scope(sees, lines)
    with _changing(by, user):
        user.groups.remove(*Group.objects.filter(name__in=GROUPS))
        user.groups.add(group)
        User.objects.filter(pk=user.pk).update(sees=scope, is_superuser=False)


def close(by: User, user: User) -> None:
    with _changing(by, user):
        User.objects.filter(pk=user.pk).update(
            is_active=False, session_epoch=F("session_epoch") + 1
        )


def reopen(by: User, user: User) -> None:
    with _changing(by, user):
        User.objects.filter(pk=user.pk).update(is_active=True)


def new_password(by: User, user: User) -> str:
    """Sessions end, since each contains a hash of the password."""
    password = _new_password()
    with _changing(by, user):
        user.set_password(password)
        user.save(update_fields=["password"])
    return password


def sign_out(by: User, user: User) -> None:
    with _changing(by, user):
        end_sessions(user)


def end_sessions(user: User) -> None:
    User.objects.filter(pk=user.pk).update(session_epoch=F("session_epoch") + 1)


def revoke(by: User, token: ApiToken) -> None:
    with _changing(by, token.user):
        token.delete()


def why_not(by: User, user: User) -> str:
    """Why ``by`` may not change ``user``; "" if they may."""
    if user.pk == by.pk:
        return IS_YOURSELF
    return IS_SUPERUSER if user.is_superuser and not by.is_superuser else ""


def remove(by: User, user: User) -> None:
    """Tokens of the person go too; the audit log stays."""
    with _changing(by, user):
        if user.is_active:
            raise ActionRefused(gettext("Close the account first; if nobody misses it, remove it."))
        user.delete()


@contextmanager
def _changing(by: User, user: User) -> Iterator[None]:
    """``by`` must still be an administrator, and not be ``user``, so one administrator remains."""
    if why := why_not(by, user):
        raise ActionRefused(why)
    with transaction.atomic():
        lock_administrators()
        if not User.objects.filter(administrators(), pk=by.pk).exists():
            raise ActionRefused(gettext("You no longer administer the whole fleet."))
        yield


def _group(role: str) -> Group:
    if role not in GROUPS:
        raise InputRefused(
            {"role": gettext("Choose one of %(groups)s.") % {"groups": ", ".join(GROUPS)}}
        )
    return Group.objects.get_or_create(name=role)[0]


def _scope(sees: str, lines: str) -> list[list[dict[str, str]]] | None:
    if sees not in (EVERYTHING, ONLY):
        raise InputRefused({"sees": gettext("Choose whether they see everything.")})
    if sees == EVERYTHING:
        if lines.strip():
            raise InputRefused(
                {
                    "sees_only": gettext(
                        "They see everything: leave this empty, or choose that they see only this."
                    )
                }
            )
        return None
    try:
        return grants.entered(lines)
    except BadMatcher as wrong:
        raise InputRefused({"sees_only": str(wrong)}) from None


def _new_password() -> str:
    return secrets.token_urlsafe(15)
