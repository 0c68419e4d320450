from enum import StrEnum

from django.db import models

from webapp.lib.translations import gettext_lazy as _


class PlanState(models.TextChoices):
    """Files are moved only in ``applying``, put back in ``undoing``, deleted in ``purging``."""

    BUILDING = "building", _("being made")
    REFUSED = "refused", _("not made")
    PLANNED = "planned", _("waits for approval")
    APPROVED = "approved", _("approved")
    APPLYING = "applying", _("being applied")
    HALTED = "halted", _("stopped in doubt")
    QUARANTINED = "quarantined", _("in quarantine")
    UNMOVED = "unmoved", _("applied, no file moved")
    UNDOING = "undoing", _("being undone")
    UNDONE = "undone", _("undone")
    PURGING = "purging", _("being purged")
    PURGED = "purged", _("purged")
    WITHDRAWN = "withdrawn", _("withdrawn")


class Way(StrEnum):
    """How files of a root wait before they are purged; stored in manifests and journals. ``RENAME``
    and ``COPY`` move files to the quarantine; the others leave them in their bucket.
    """

    RENAME = "rename"
    COPY = "copy"
    DELETE_MARKER = "delete_marker"
    TAG = "tag"


IN_PLACE = frozenset({Way.DELETE_MARKER, Way.TAG})
