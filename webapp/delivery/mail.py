import smtplib
from typing import cast
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.backends.smtp import EmailBackend

from webapp.delivery.formats.base import Mail

STEP_TIMEOUT_S = 10
_PORTS = {"smtp": 25, "smtp+starttls": 587, "smtps": 465}


class MailFailed(Exception):
    """The message does not quote the server; ``status``: the server's reply code."""

    def __init__(self, what: str, status: int | None = None) -> None:
        super().__init__(what)
        self.status = status


def is_configured() -> bool:
    return bool(settings.WEIR.smtp_url)


def send_mail(mail: Mail) -> str:
    """Each step may take ten seconds. Raises :class:`MailFailed` unless every recipient was
    accepted.
    """
    if not is_configured():
        raise MailFailed("WEIR_SMTP_URL is not set: no mail can be sent.")
    try:
        with _server() as server:
            # ``EmailBackend.send_messages`` does not report that some recipients were refused.
            smtp = cast(smtplib.SMTP, server.connection)
            refused = smtp.send_message(
                message(mail).message(), settings.WEIR.mail_from, list(mail.to)
            )
    except smtplib.SMTPResponseException as error:
        raise MailFailed(
            f"The mail server refused with {error.smtp_code}.", error.smtp_code
        ) from None
    except smtplib.SMTPRecipientsRefused:
        raise MailFailed("The mail server refused every recipient.", 550) from None
    except (OSError, smtplib.SMTPException) as error:
        raise MailFailed(f"The mail server could not be used ({type(error).__name__}).") from None
    if refused:
        raise MailFailed(
            f"The mail server refused {len(refused)} of {len(mail.to)} recipients.", 550
        )
    return f"taken for {len(mail.to)} recipients"


def message(mail: Mail) -> EmailMessage:
    """Raises ``BadHeaderError`` if a header contains a line end."""
    headers = {
        "Message-ID": f"<{mail.message_id}@{settings.WEIR.mail_from.rpartition('@')[2]}>",
        "Auto-Submitted": "auto-generated",
    }
    return EmailMessage(
        mail.subject, mail.text, settings.WEIR.mail_from, list(mail.to), headers=headers
    )


def _server() -> EmailBackend:
    url = urlsplit(settings.WEIR.smtp_url)
    return EmailBackend(
        host=url.hostname or "localhost",
        port=url.port or _PORTS[url.scheme],
        username=unquote(url.username or ""),
        password=unquote(url.password or ""),
        use_tls=url.scheme == "smtp+starttls",
        use_ssl=url.scheme == "smtps",
        timeout=STEP_TIMEOUT_S,
    )
