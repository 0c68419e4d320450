"""An own certificate authority with a server and a client certificate, made for one test run."""

import datetime
import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True)
class Certificates:
    """Paths of PEM files, and the server side that demands a client certificate of this
    authority.
    """

    ca_file: str
    client_cert_file: str
    client_key_file: str
    server: ssl.SSLContext


def server_side(
    folder: Path, *, host: str = "127.0.0.1", expired: bool = False, self_signed: bool = False
) -> tuple[str, ssl.SSLContext]:
    """The authority's file, and a server that is wrong in one way."""
    made = make_certificates(folder, host, expired=expired, self_signed=self_signed)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "server.pem", folder / "server.key")
    return made.ca_file, context


def make_certificates(
    folder: Path, host: str = "127.0.0.1", *, expired: bool = False, self_signed: bool = False
) -> Certificates:
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca = _certificate("weir test authority", ca_key, "weir test authority", ca_key, authority=True)
    _write(folder / "ca.pem", ca.public_bytes(serialization.Encoding.PEM))
    for name in ("server", "client"):
        key = ec.generate_private_key(ec.SECP256R1())
        own = self_signed and name == "server"
        issuer, issuer_key = (name, key) if own else ("weir test authority", ca_key)
        certificate = _certificate(
            name,
            key,
            issuer,
            issuer_key,
            authority=False,
            host=host,
            expired=expired and name == "server",
        )
        _write(folder / f"{name}.pem", certificate.public_bytes(serialization.Encoding.PEM))
        _write(
            folder / f"{name}.key",
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            ),
        )
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(folder / "ca.pem"))
    server.verify_mode = ssl.CERT_REQUIRED
    server.load_cert_chain(folder / "server.pem", folder / "server.key")
    return Certificates(
        str(folder / "ca.pem"), str(folder / "client.pem"), str(folder / "client.key"), server
    )


def _certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    issuer_key: ec.EllipticCurvePrivateKey,
    *,
    authority: bool,
    host: str = "127.0.0.1",
    expired: bool = False,
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=2 if expired else 0)
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host))]),
            critical=False,
        )
    )
    return builder.sign(issuer_key, hashes.SHA256())


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
