from typing import Any

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.core import checks
from django.db.models.signals import post_migrate


class AccountsConfig(AppConfig):
    name = "webapp.accounts"

    def ready(self) -> None:
        # Groups belong to ``auth``, whose handlers have to run first.
        post_migrate.connect(_make_groups, sender=self, dispatch_uid="accounts.groups")
        from webapp.accounts import sessions
        from webapp.accounts.oidc import configured
        from webapp.lib import scoped_rows

        configured.check_settings()
        user_logged_in.connect(_mark_sign_in, dispatch_uid="accounts.audit")
        user_logged_out.connect(_mark_sign_out_done, dispatch_uid="accounts.audit")
        user_logged_in.connect(sessions.begin_at_sign_in, dispatch_uid="accounts.sessions")
        scoped_rows.connect()
        checks.register(scoped_rows.check_declarations)


def _mark_sign_in(request: Any, **_kwargs: Any) -> None:
    if request is not None:
        request.has_signed_in = True


def _mark_sign_out_done(request: Any, **_kwargs: Any) -> None:
    from webapp.accounts.audit import entries

    if request is not None:
        entries.mark_carried_out(request)


def _make_groups(using: str, **_kwargs: Any) -> None:
    from django.contrib.auth.models import Group

    from webapp.accounts.roles import GROUPS

    for name in GROUPS:
        Group.objects.using(using).get_or_create(name=name)
