"""Mail by the SMTP server of this installation (WEIR_SMTP_URL), with a plain and an HTML body."""

import smtplib
import ssl
from email.message import EmailMessage
from email.utils import format_datetime, localtime
from urllib.parse import unquote, urlsplit

from django.conf import settings

from webapp.delivery.formats.base import Mail

WITHIN_S = 10
_PORTS = {"smtp": 25, "smtp+starttls": 587, "smtps": 465}


class MailFailed(Exception):
    """The message says what happened without the server's words; ``status`` is its reply code, if it gave one."""

    def __init__(self, what: str, status: int | None = None) -> None:
        super().__init__(what)
        self.status = status


def is_configured() -> bool:
    return bool(settings.WEIR.smtp_url)


def send_mail(mail: Mail) -> str:
    """Blocks for ten seconds a step at most; raises :class:`MailFailed` unless every recipient was taken."""
    if not is_configured():
        raise MailFailed("WEIR_SMTP_URL is not set: no mail can be sent.")
    try:
        with _server() as server:
            refused = server.send_message(message(mail), settings.WEIR.mail_from, list(mail.to))
    except smtplib.SMTPResponseException as error:
        raise MailFailed(f"The mail server refused with {error.smtp_code}.", error.smtp_code) from None
    except smtplib.SMTPRecipientsRefused:
        raise MailFailed("The mail server refused every recipient.", 550) from None
    except (OSError, smtplib.SMTPException) as error:
        raise MailFailed(f"The mail server could not be used ({type(error).__name__}).") from None
    if refused:
        raise MailFailed(f"The mail server refused {len(refused)} of {len(mail.to)} recipients.", 550)
    return f"taken for {len(mail.to)} recipients"


def message(mail: Mail) -> EmailMessage:
    """Headers are set through the policy of the standard library, which refuses line ends in them."""
    found = EmailMessage()
    found["From"] = settings.WEIR.mail_from
    found["To"] = ", ".join(mail.to)
    found["Subject"] = mail.subject
    found["Date"] = format_datetime(localtime())
    found["Message-ID"] = f"<{mail.message_id}@{settings.WEIR.mail_from.rpartition('@')[2]}>"
    found["Auto-Submitted"] = "auto-generated"
    found.set_content(mail.text)
    found.add_alternative(mail.html, subtype="html")
    return found


def _server() -> smtplib.SMTP:
    url = urlsplit(settings.WEIR.smtp_url)
    host, port = url.hostname or "localhost", url.port or _PORTS[url.scheme]
    if url.scheme == "smtps":
        server: smtplib.SMTP = smtplib.SMTP_SSL(host, port, timeout=WITHIN_S, context=ssl.create_default_context())
    else:
        server = smtplib.SMTP(host, port, timeout=WITHIN_S)
    try:
        if url.scheme == "smtp+starttls":
            server.starttls(context=ssl.create_default_context())
        if url.username:
            server.login(unquote(url.username), unquote(url.password or ""))
    except BaseException:
        server.close()
        raise
    return server
