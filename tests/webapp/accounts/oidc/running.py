"""The provider: fetched from npm once, started on loopback, and a browser without scripts that
signs in there.
"""

import json
import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
import requests

VERSION = "9.13.3"
CLIENT_ID, CLIENT_SECRET = "weir", "a-secret-of-the-client-4711"
BACK = "http://127.0.0.1:8000/sign-in/oidc/back/"
SIGNED_OUT = "http://127.0.0.1:8000/sign-in/"
HERE = Path(__file__).parent
PEOPLE: dict[str, dict[str, Any]] = {
    "ann": {
        "preferred_username": "ann",
        "email": "ann@example.org",
        "email_verified": True,
        "groups": ["sre", "payments"],
    },
    "bob": {
        "preferred_username": "bob",
        "email": "bob@example.org",
        "email_verified": True,
        "groups": ["kitchen"],
    },
    "kim": {"preferred_username": "\u0430dmin", "groups": ["sre"]},
    "kit": {"preferred_username": "ADMIN", "groups": ["sre"]},
    "mal": {
        "preferred_username": "mal",
        "email": "mal@elsewhere.org",
        "email_verified": True,
        "groups": ["sre"],
        "id_token": {"email": "ann@example.org"},
    },
    "max": {
        "preferred_username": "max",
        "email": "ann@example.org",
        "groups": ["sre"],
        "id_token": {"email_verified": True},
    },
    "ida": {
        "preferred_username": "ida",
        "groups": ["sre"],
        "id_token": {"email": "ida@example.org", "email_verified": True},
    },
    "zoe": {"preferred_username": "zoe", "groups": ["sre"], "user_info_of": "ann"},
    "eve": {
        "preferred_username": "eve",
        "email": "ann@example.org",
        "email_verified": False,
        "groups": ["sre"],
    },
}


def installed() -> Path:
    """A folder with the package; skips where npm cannot fetch it."""
    folder = Path(tempfile.gettempdir()) / f"weir-oidc-provider-{VERSION}"
    if not (folder / "node_modules" / "oidc-provider" / "package.json").is_file():
        npm, node = shutil.which("npm"), shutil.which("node")
        if not (npm and node):
            pytest.skip("a real OpenID provider needs node and npm")
        folder.mkdir(exist_ok=True)
        patience = ["--fetch-retries=0", "--fetch-timeout=20000"]
        quiet = ["--no-audit", "--no-fund", "--ignore-scripts"]
        command = [
            npm,
            "install",
            *quiet,
            *patience,
            "--prefix",
            str(folder),
            f"oidc-provider@{VERSION}",
        ]
        try:
            subprocess.run(
                command, capture_output=True, text=True, timeout=120, cwd=folder, check=True
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            shutil.rmtree(folder, ignore_errors=True)
            pytest.skip(
                f"npm cannot fetch oidc-provider {VERSION}: "
                f"{str(error.stderr or error).strip()[-200:]}"
            )
    shutil.copy(HERE / "provider.mjs", folder / "provider.mjs")
    return folder


@contextmanager
def provider(**features: bool) -> Iterator[str]:
    """Its issuer. ``features``: which of oidc-provider's are on or off."""
    folder = installed()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    client = {
        "client_id": CLIENT_ID,
        "client_secret": CLIENT_SECRET,
        "redirect_uris": [BACK],
        "response_types": ["code"],
    }
    client["post_logout_redirect_uris"] = [SIGNED_OUT]
    switched = {name: {"enabled": is_on} for name, is_on in features.items()}
    command = ["node", "provider.mjs", str(port), *map(json.dumps, (client, PEOPLE, switched))]
    process = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        if not any("ready" in line for line in process.stdout):
            pytest.skip("this node cannot run the provider; it needs a newer one")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def signed_in_there(address: str, name: str, browser: requests.Session | None = None) -> str:
    """Where the provider leads back to, after ``name`` signed in and agreed on its own pages."""
    browser = browser or requests.Session()
    answer = browser.get(address, allow_redirects=False, timeout=10)
    for _ in range(10):
        while answer.is_redirect:
            target = urljoin(answer.url, answer.headers["Location"])
            if target.startswith(BACK):
                return target
            answer = browser.get(target, allow_redirects=False, timeout=10)
        form = re.search(r'action="([^"]+)"', answer.text)
        prompt = re.search(r'name="prompt" value="([^"]+)"', answer.text)
        assert form and prompt, answer.text[:500]
        entered = {"prompt": prompt[1], "login": name, "password": "any"}
        answer = browser.post(
            urljoin(answer.url, form[1]), entered, allow_redirects=False, timeout=10
        )
    raise AssertionError("the provider does not lead back")


def is_known_there(address: str, browser: requests.Session) -> bool:
    """Whether the provider leads back without asking who it is."""
    answer = browser.get(address, allow_redirects=False, timeout=10)
    while answer.is_redirect:
        target = urljoin(answer.url, answer.headers["Location"])
        if target.startswith(BACK):
            return True
        answer = browser.get(target, allow_redirects=False, timeout=10)
    assert 'name="prompt" value="login"' in answer.text, answer.text[:500]
    return False


def signed_out_there(address: str, browser: requests.Session) -> str:
    """Where the provider leads back to, after its page of signing out was agreed to."""
    answer = browser.get(address, timeout=10)
    form = re.search(r'action="([^"]+)"', answer.text)
    kept = re.search(r'name="xsrf" value="([^"]+)"', answer.text)
    assert form and kept, answer.text[:500]
    answer = browser.post(
        urljoin(answer.url, form[1]),
        {"xsrf": kept[1], "logout": "yes"},
        allow_redirects=False,
        timeout=10,
    )
    return answer.headers["Location"]
