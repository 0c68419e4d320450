from dataclasses import dataclass, field

from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.validators import validate_email
from django.utils.translation import gettext

from webapp.config import encryption
from webapp.delivery import signing
from webapp.delivery.addresses import Policy
from webapp.delivery.choices import FormatName
from webapp.delivery.formats.registry import FORMATS
from webapp.delivery.models import Endpoint
from webapp.delivery.targets import RefusedTarget, Target, check_target
from webapp.findings.choices import Severity
from webapp.lib.cluster_labels import label_names
from webapp.lib.labels import OF_EACH_ALERT, accept_every_alert
from webapp.lib.matchers import Matcher
from webapp.lib.origins import ENTER_AGAIN, leads_elsewhere
from webapp.lib.refusals import InputRefused

LONGEST_NAME, LONGEST_CREDENTIAL = 100, 1_000
MOST_EMAILS, LONGEST_EMAIL = 20, 254
SECRET_FIELDS = ("secret_encrypted", "previous_secret_encrypted", "previous_secret_until")
ENTERED = (
    *("name", "format", "url_encrypted", "url_shown", "emails", "credential_encrypted"),
    *("matchers", "min_severity", "owner_email"),
)
"""Others are not saved: somebody may disable the endpoint or rotate its secret meanwhile."""


@dataclass(frozen=True)
class EndpointEntry:
    """``url`` and ``credential``: None keeps the stored one."""

    name: str
    format: str = FormatName.WEIR
    url: str | None = field(default=None, repr=False)
    credential: str | None = field(default=None, repr=False)
    emails: tuple[str, ...] = ()
    matchers: tuple[Matcher, ...] = ()
    min_severity: str = Severity.WARNING
    owner_email: str = ""


def enter(endpoint: Endpoint, entered: EndpointEntry, rules: Policy) -> str:
    """Check and save, with a DNS look-up. Returns the new secret, or "" if none was created. Raises
    :class:`InputRefused`.
    """
    errors: dict[str, str] = {}
    name = entered.name.strip()
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        errors["name"] = gettext(
            "Give a name of %(longest_name)s characters at most, on one line."
        ) % {"longest_name": LONGEST_NAME}
    elif Endpoint.objects.filter(name=name).exclude(pk=endpoint.pk).exists():
        errors["name"] = gettext("There is an endpoint %(name)s already.") % {"name": name}
    if entered.owner_email and not _is_mail(entered.owner_email):
        errors["owner_email"] = gettext("Give one mail address.")
    if entered.matchers and accept_every_alert(entered.matchers, {*OF_EACH_ALERT, *label_names()}):
        errors["matchers"] = gettext(
            "No cluster has the label %(label)s, so every alert would be sent. For that, give no "
            "matcher."
        ) % {"label": entered.matchers[0].label}
    target = _target(endpoint, entered, rules, errors)
    _check_credential(endpoint, entered, target, errors)
    if errors:
        raise InputRefused(errors)
    return _save(endpoint, entered, target)


def _save(endpoint: Endpoint, entered: EndpointEntry, target: Target | None) -> str:
    form = FORMATS[entered.format]
    is_other_format = endpoint.format != entered.format
    endpoint.name, endpoint.format = entered.name.strip(), entered.format
    endpoint.min_severity = entered.min_severity
    endpoint.emails = list(entered.emails) if entered.format == FormatName.EMAIL else []
    endpoint.matchers = [matcher.as_json() for matcher in entered.matchers]
    endpoint.owner_email = entered.owner_email
    if target is not None:
        endpoint.url_encrypted = encryption.encrypt(target.url)
        endpoint.url_shown = f"{target.origin}/…"
    if entered.format == FormatName.EMAIL:
        endpoint.url_encrypted = endpoint.url_shown = ""
    if entered.credential is not None:
        endpoint.credential_encrypted = (
            encryption.encrypt(entered.credential) if entered.credential else ""
        )
    if not form.credential or (is_other_format and entered.credential is None):
        # The credential for one system is not sent to another one.
        endpoint.credential_encrypted = ""
    secret = ""
    if not form.for_machines:
        endpoint.secret_encrypted = endpoint.previous_secret_encrypted = ""
    elif not endpoint.secret_encrypted:
        secret = signing.new_secret()
        endpoint.secret_encrypted = encryption.encrypt(secret)
    fields = ENTERED if form.for_machines and not secret else (*ENTERED, *SECRET_FIELDS)
    endpoint.save(update_fields=fields if endpoint.pk else None)
    return secret


def _target(
    endpoint: Endpoint, entered: EndpointEntry, rules: Policy, errors: dict[str, str]
) -> Target | None:
    """None if the stored address stays, or if no address is needed or valid."""
    if entered.format == FormatName.EMAIL:
        if (
            not entered.emails
            or len(entered.emails) > MOST_EMAILS
            or not all(_is_mail(address) for address in entered.emails)
        ):
            errors["emails"] = gettext("Give one to %(most_emails)s mail addresses.") % {
                "most_emails": MOST_EMAILS
            }
        return None
    url = (entered.url or "").strip() or (
        "" if endpoint.url_encrypted else FORMATS[entered.format].default_url
    )
    if not url:
        # The stored address is useless for another format.
        if not endpoint.url_encrypted or (endpoint.pk and endpoint.format != entered.format):
            errors["url"] = gettext("Give the address it is sent to.")
        return None
    if (part := FORMATS[entered.format].address_has) not in url:
        errors["url"] = gettext("The address must contain %(part)s.") % {"part": part}
        return None
    try:
        return check_target(url, rules)
    except RefusedTarget as refused:
        errors["url"] = str(refused)
    return None


def _check_credential(
    endpoint: Endpoint, entered: EndpointEntry, target: Target | None, errors: dict[str, str]
) -> None:
    form, credential = FORMATS[entered.format], entered.credential
    is_stored = bool(endpoint.credential_encrypted) and endpoint.format == entered.format
    keeps_stored = is_stored and credential is None
    if credential and (len(credential) > LONGEST_CREDENTIAL or not credential.isprintable()):
        errors["credential"] = gettext(
            "It is longer than %(longest_credential)s characters, or contains characters that "
            "cannot be sent."
        ) % {"longest_credential": LONGEST_CREDENTIAL}
    if form.credential_required and not credential and not keeps_stored:
        errors["credential"] = gettext("%(credential)s is needed.") % {
            "credential": form.credential
        }
    elif form.credential and keeps_stored and target and _leads_elsewhere(endpoint, target):
        errors["credential"] = ENTER_AGAIN


def _leads_elsewhere(endpoint: Endpoint, target: Target) -> bool:
    try:
        return leads_elsewhere([endpoint.url], [target.url])
    except ImproperlyConfigured:
        return True  # the stored address cannot be decrypted


def _is_mail(address: str) -> bool:
    try:
        validate_email(address)
    except ValidationError:
        return False
    return len(address) <= LONGEST_EMAIL
