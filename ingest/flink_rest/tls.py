"""The TLS side of a cluster: own certificate authority, client certificate, or no check at all."""

import ssl

from ingest.errors import Refused
from ingest.messages import message
from ingest.sources import Tls


def tls_context(tls: Tls) -> ssl.SSLContext:
    """Raises ``Refused`` naming the file that cannot be used; file contents never appear in
    messages.
    """
    try:
        context = ssl.create_default_context(cafile=tls.ca_file or None)
    except (OSError, ssl.SSLError) as error:
        raise Refused(
            message(
                "The CA file {ca_file:name} is not a readable PEM file of certificates.",
                ca_file=tls.ca_file,
            )
        ) from error
    if not tls.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if tls.client_cert_file:
        try:
            # An empty password keeps OpenSSL from asking for one on the terminal.
            context.load_cert_chain(tls.client_cert_file, tls.client_key_file or None, password="")
        except (OSError, ssl.SSLError) as error:
            raise Refused(
                message(
                    "The client certificate {client_cert_file:name} and its key do not load; both "
                    "must be PEM, the key without a password.",
                    client_cert_file=tls.client_cert_file,
                )
            ) from error
    return context
