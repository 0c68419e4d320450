from collections.abc import Iterable

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from ingest.errors import Refused
from ingest.local_directories import refusal_of_tree
from ingest.storage.identities import same_directory
from ingest.storage.roots import Root
from ingest.uris import BadUri, are_nested, refuse_undecodable
from webapp.accounts.models import User
from webapp.fleet.models import Cluster
from webapp.lib.messages.rendering import localised
from webapp.lib.storage_uris import canonical, spellings
from webapp.storage.auditing.audit_request import refuse_overlap
from webapp.storage.models import StorageRoot
from webapp.storage.suggestions import above_entropy

ENTERED = ("read_at", "kind", "enabled", "quarantine_uri")
"""Only these and the URI are saved: somebody may withdraw the attestation meanwhile."""


def parse_root(entered: str, read_at: str) -> Root:
    """The root at a URI in any spelling; raises ``ValidationError``."""
    try:
        return Root.of(entered, read_at or None, spellings())
    except BadUri as error:
        raise ValidationError({"uri": str(error)}) from error


def save(row: StorageRoot, clusters: Iterable[Cluster]) -> StorageRoot:
    """Validate and save; ``row.uri`` may be in any spelling. Raises ``ValidationError``."""
    root = parse_root(row.uri, row.read_at)
    row.uri, row.read_at = root.uri, root.read_at or ""
    if refusal := refusal_of_tree(root.reading):
        raise ValidationError({"read_at" if row.read_at else "uri": localised(refusal)})
    if (above := above_entropy(root.uri)) is not None:
        why = gettext(
            "Flink puts random characters where this URI has the text of s3.entropy.key. Each "
            "_metadata lies below the same path without it, and data files lie below as many "
            "directories as there are random texts. Register %(above)s, which holds all of them: "
            "an audit has to list them all. Weir keeps what lies below random texts, since it "
            "does not know which job wrote it."
        ) % {"above": above}
        raise ValidationError({"uri": why})
    other_uris = StorageRoot.objects.exclude(pk=row.pk).values_list("uri", flat=True)
    try:
        for other in other_uris:
            if other != row.uri:
                refuse_overlap([row.uri, other])
    except Refused as error:
        raise ValidationError(
            {
                "uri": gettext("%(error)s It is registered as %(other)s.")
                % {"error": error, "other": other}
            }
        ) from error
    _refuse_second_name(row, root)
    row.quarantine_uri = _quarantine_uri(row)
    row.full_clean()
    with transaction.atomic():
        row.save(update_fields=("uri", *ENTERED) if row.pk else None)
        row.clusters.set(clusters)
    return row


def attest(row: StorageRoot, name: str, user: User | None = None) -> None:
    row.attested_at, row.attested_name, row.attested_by = timezone.now(), name[:200], user
    row.save(update_fields=["attested_at", "attested_name", "attested_by"])


def withdraw(row: StorageRoot) -> None:
    """Withdraws the attestation: nothing below the root is cleaned."""
    row.attested_at, row.attested_name, row.attested_by = None, "", None
    row.save(update_fields=["attested_at", "attested_name", "attested_by"])


def _refuse_second_name(row: StorageRoot, root: Root) -> None:
    """Refuse a new root or a new ``read_at`` if it is the directory of another root."""
    stored_read_at = StorageRoot.objects.filter(pk=row.pk).values_list("read_at", flat=True).first()
    if stored_read_at == row.read_at:
        return
    for other in StorageRoot.objects.exclude(pk=row.pk):
        place = other.place.reading
        if same_directory(root.reading, place):
            why = gettext(
                "%(reading)s and %(place)s, where the root %(uri)s is read, are the same "
                "directory, or one contains the other: a file that is needed under one name "
                "would look unneeded under the other. Declare one as an alias of the other "
                "(WEIR_STORAGE_ALIASES), and register only one root."
            ) % {"reading": root.reading, "place": place, "uri": other.uri}
            raise ValidationError({"read_at" if row.read_at else "uri": why})


def _quarantine_uri(row: StorageRoot) -> str:
    """The canonical URI of a quarantine outside all roots, so that no audit lists its files."""
    if not row.quarantine_uri:
        return ""
    try:
        refuse_undecodable(row.quarantine_uri)
        uri = canonical(row.quarantine_uri)
    except BadUri as error:
        raise ValidationError({"quarantine_uri": str(error)}) from error
    if refusal := refusal_of_tree(uri):
        raise ValidationError({"quarantine_uri": localised(refusal)})
    roots = [row.uri, *StorageRoot.objects.values_list("uri", flat=True)]
    if any(are_nested(uri, root) for root in roots):
        raise ValidationError({"quarantine_uri": gettext("It must lie outside all roots.")})
    return uri
