"""The certificate of HTTPS in tests: one for the process, and who is told to trust it."""

from __future__ import annotations

import base64
import hashlib
import ssl
from pathlib import Path

import trustme
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

_AUTHORITY = trustme.CA()
_LOCALHOST = _AUTHORITY.issue_cert("localhost")


def write_certificate(path: Path) -> None:
    """The key and the certificate of https://localhost, as one PEM file."""
    _LOCALHOST.private_key_and_cert_chain_pem.write_to_path(path)


def trusting() -> ssl.SSLContext:
    """What a client of ours checks the certificate with."""
    context = ssl.create_default_context()
    _AUTHORITY.configure_trust(context)
    return context


def browser_option() -> str:
    """By this Chromium trusts this certificate and no other.

    Not `ignore_https_errors`: then each request fails a handshake and starts anew, and where a
    page is left while it loads, one may run out of such starts: ERR_TOO_MANY_RETRIES.
    """
    certificate = x509.load_pem_x509_certificate(_LOCALHOST.cert_chain_pems[0].bytes())
    key = certificate.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    fingerprint = base64.b64encode(hashlib.sha256(key).digest()).decode()
    return f"--ignore-certificate-errors-spki-list={fingerprint}"
