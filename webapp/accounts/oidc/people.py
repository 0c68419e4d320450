"""Users of the identity provider are identified by issuer and subject. Each sign-in sets their role
and scope from the claims.
"""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from webapp.accounts.models import User
from webapp.accounts.oidc.configured import EVERYTHING
from webapp.accounts.roles import GROUPS, Role
from webapp.lib import grants

EVERYBODY = "*"
_LONGEST = 255


class NotAdmitted(Exception):
    """The message is safe to show."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(why)
        self.name = name


def admit(claims: Mapping[str, Any]) -> User:
    """Creates the user if needed. An account is never found by its name: else, whoever controls
    names at the provider could become anybody.
    """
    weir = settings.WEIR
    name = str(claims.get(weir.oidc_name_claim) or "")[:150].replace("\x00", "")
    subject = f"{weir.oidc_issuer} {claims['sub']}".replace("\x00", "�")
    if len(subject) > _LONGEST:
        raise NotAdmitted(name, "The identity provider calls you by a subject that is too long.")
    if not _is_allowed(claims):
        raise NotAdmitted(
            name, "Your account at the identity provider is not among those that may sign in here."
        )
    role = _role(claims)
    if role is None:
        raise NotAdmitted(
            name,
            (
                "None of your groups at the identity provider has a role here. Ask an "
                "administrator of Weir."
            ),
        )
    user = User.objects.filter(oidc_subject=subject).first() or _create_user(name, subject)
    if not user.is_active:
        raise NotAdmitted(
            user.username, "Your account here is closed. Ask an administrator of Weir."
        )
    with transaction.atomic():
        user.groups.remove(*Group.objects.filter(name__in=GROUPS))
        user.groups.add(Group.objects.get_or_create(name=role.group)[0])
        if weir.oidc_sees:
            user.sees = _sees(claims)
            user.save(update_fields=["sees"])
    return user


def _create_user(name: str, subject: str) -> User:
    user = User(username=name, oidc_subject=subject)
    user.set_unusable_password()
    try:
        UnicodeUsernameValidator()(name)
    except ValidationError:
        why = (
            f"The claim {settings.WEIR.oidc_name_claim} is no user name, or an e-mail address "
            "that is not verified."
        )
        raise NotAdmitted(name, why) from None
    try:
        user.save()
    except ValidationError:
        why = (
            f"The name {name} looks like that of another account here, or has letters of several "
            "scripts. Ask an administrator of Weir."
        )
        raise NotAdmitted(name, why) from None
    except IntegrityError:
        # Another sign-in may have created the user at the same time.
        existing = User.objects.filter(oidc_subject=subject).first()
        if existing is None:
            raise NotAdmitted(
                name,
                (
                    f"There is another account {name} here. Ask an administrator of Weir to remove "
                    "or rename it."
                ),
            ) from None
        return existing
    return user


def _is_allowed(claims: Mapping[str, Any]) -> bool:
    allowed = settings.WEIR.oidc_allowed
    if not allowed:
        return True
    address = str(claims.get("email") or "").lower()
    return "@" in address and any(
        address == entry.lower() or (entry.startswith("@") and address.endswith(entry.lower()))
        for entry in allowed
    )


def _role(claims: Mapping[str, Any]) -> Role | None:
    roles = _granted(claims, settings.WEIR.oidc_role_claim, settings.WEIR.oidc_roles)
    return max((Role[role.upper()] for role in roles), default=None)


def _sees(claims: Mapping[str, Any]) -> list[list[dict[str, str]]] | None:
    lines = _granted(claims, settings.WEIR.oidc_scope_claim, settings.WEIR.oidc_sees)
    return None if EVERYTHING in lines else grants.as_json(grants.parse("\n".join(lines)))


def _granted(claims: Mapping[str, Any], claim: str, texts: Mapping[str, str]) -> list[str]:
    """``texts``: value of the claim → role or grant."""
    values = _values(claims, claim)
    return [text for value, text in texts.items() if value == EVERYBODY or value in values]


def _values(claims: Mapping[str, Any], name: str) -> set[str]:
    """A claim may be a list, one text, or absent. ``a.b`` is ``b`` in the object ``a``."""
    values: Any = claims
    for part in [name] if name in claims else name.split("."):
        values = values.get(part) if isinstance(values, Mapping) else None
    return {
        str(item) for item in (values if isinstance(values, list) else [values]) if item is not None
    }
