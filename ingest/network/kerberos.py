"""Kerberos in HTTP requests (SPNEGO, RFC 4559). The identity is that of the keytab
``KRB5_CLIENT_KTNAME``, else of the process's credential cache.
"""

import asyncio
import base64

from ingest.errors import IngestError, Refused
from ingest.messages import message


class NoTicket(IngestError):
    pass


async def authorization(host: str) -> str:
    # In a thread, since a KDC may not answer.
    return await asyncio.to_thread(_negotiate, host)


def _negotiate(host: str) -> str:
    try:
        import gssapi
    except (ImportError, OSError) as error:  # OSError: the machine has no Kerberos
        raise Refused(
            message(
                "Signing in by Kerberos needs the library gssapi: pip install 'weir[kerberos]'."
            )
        ) from error
    try:
        service = gssapi.Name(f"HTTP@{host}", gssapi.NameType.hostbased_service)
        spnego = gssapi.OID.from_int_seq("1.3.6.1.5.5.2")
        token = gssapi.SecurityContext(name=service, mech=spnego, usage="initiate").step()
    except gssapi.exceptions.GSSError as error:
        raise NoTicket(
            message(
                "There is no ticket of Kerberos for HTTP@{host:name} ({why:name}); check "
                "KRB5_CLIENT_KTNAME and krb5.conf.",
                host=host,
                why=_why(error),
            )
        ) from error
    return f"Negotiate {base64.b64encode(token or b'').decode()}"


def _why(error: Exception) -> str:
    return (
        str(error).rpartition("Minor (")[2].partition("): ")[2].strip().rstrip(".")
        or type(error).__name__
    )
