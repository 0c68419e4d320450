"""Orders of people for a copy: create, run a round now, stop, resume. Each records their name."""

from datetime import datetime
from typing import Any

from django.utils.translation import gettext

from ingest.uris import BadUri
from webapp.accounts.roles import Role, role_of
from webapp.fleet.models import JobCurrent
from webapp.lib.refusals import ActionRefused, InputRefused
from webapp.lib.storage_uris import canonical
from webapp.replication import findings, work_keys
from webapp.replication.models import Replica
from webapp.replication.registration import register
from webapp.replication.storages import storage_of
from webapp.storage.models import StorageRoot

ORDERS = ("now", "stop", "resume")


def ask(job: JobCurrent, destination: str, every_s: int, user: Any, at: datetime) -> Replica:
    """Request a copy that workers make and keep up to date. Raises :class:`ActionRefused`."""
    _refuse_unknown_storage(destination, user)
    replica = register(job, destination, name=user.get_username(), at=at, every_s=every_s)
    _save_order(replica, user, at)
    work_keys.wake(replica, at)
    return replica


def order(replica: Replica, verb: str, user: Any, at: datetime) -> str:
    """Carry out one of ``ORDERS``; returns a sentence about the result."""
    if verb not in ORDERS:
        raise ActionRefused(gettext("There is no such order."))
    if verb == "now" and not replica.enabled:
        raise ActionRefused(gettext("The copy is stopped: resume it first."))
    if verb == "stop":
        replica.enabled = False
        _save_order(replica, user, at)
        findings.close(replica, at)
        return gettext("The copy stays as it is, and is no longer kept up to date.")
    replica.enabled = True
    _save_order(replica, user, at)
    work_keys.wake(replica, at)
    return gettext("A worker looks for a newer checkpoint within a minute.")


def _save_order(replica: Replica, user: Any, at: datetime) -> None:
    replica.changed_at, replica.changed_name = at, user.get_username()[:200]
    replica.save(update_fields=["enabled", "changed_at", "changed_name"])


def _refuse_unknown_storage(destination: str, user: Any) -> None:
    if role_of(user) == Role.ADMIN:
        return
    try:
        storage = storage_of(canonical(destination))
        storages = {
            storage_of(canonical(uri)) for uri in StorageRoot.objects.values_list("uri", flat=True)
        } - {"file:"}
    except BadUri as error:
        raise InputRefused({"destination": str(error)}) from error
    if storage not in storages:
        allowed = (
            f": {', '.join(sorted(storages))}"
            if storages
            else gettext(", and none is on a remote storage")
        )
        raise InputRefused(
            {
                "destination": gettext(
                    "Operators may copy to storages that registered roots are on%(allowed)s. Ask "
                    "an administrator for others."
                )
                % {"allowed": allowed}
            }
        )
