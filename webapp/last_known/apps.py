"""Hears of everything that changes what somebody may see."""

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in, user_logged_out
from django.db.models.signals import m2m_changed, post_delete, post_save


class LastKnownConfig(AppConfig):
    name = "webapp.last_known"

    def ready(self) -> None:
        from django.contrib.auth.models import Group

        from webapp.accounts.models import User
        from webapp.accounts.signals import access_changed
        from webapp.last_known import forgetting

        own = "last_known"
        access_changed.connect(forgetting.account_changed, dispatch_uid=own)
        user_logged_in.connect(forgetting.signed_in, dispatch_uid=own)
        user_logged_out.connect(forgetting.signed_out, dispatch_uid=own)
        post_save.connect(forgetting.account_saved, sender=User, dispatch_uid=own)
        post_delete.connect(forgetting.account_saved, sender=User, dispatch_uid=own)
        m2m_changed.connect(forgetting.groups_changed, sender=User.groups.through, dispatch_uid=own)
        for changed in (post_save, post_delete):
            changed.connect(forgetting.group_changed, sender=Group, dispatch_uid=own)
            changed.connect(forgetting.cluster_changed, sender="fleet.Cluster", dispatch_uid=own)
