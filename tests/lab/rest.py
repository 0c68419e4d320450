"""The few REST calls the lab itself makes; independent of the client under test."""

import json
import secrets
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any


def call(url: str, body: object = None, method: str = "GET", timeout_s: float = 20) -> Any:
    """The decoded answer. Raises OSError where there is none."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        url, data=data, method=method, headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=timeout_s) as answer:
        text = answer.read().decode()
    return json.loads(text) if text else None


def call_or_none(url: str) -> Any:
    try:
        return call(url, timeout_s=3)
    except (OSError, ValueError):
        return None


def upload_jar(base: str, jar: Path) -> str:
    """The id under which the JobManager keeps it."""
    boundary = secrets.token_hex(16)
    head = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="jarfile"; filename="{jar.name}"\r\n'
    )
    head += "Content-Type: application/x-java-archive\r\n\r\n"
    body = head.encode() + jar.read_bytes() + f"\r\n--{boundary}--\r\n".encode()
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    with urllib.request.urlopen(
        urllib.request.Request(f"{base}/jars/upload", data=body, headers=headers), timeout=30
    ) as answer:
        return str(json.load(answer)["filename"]).rsplit("/", 1)[-1]
