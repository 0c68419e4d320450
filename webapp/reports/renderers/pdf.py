"""A document printed to PDF by Chromium: a process of its own, without network, with a profile that
goes away, and with a time limit.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from django.conf import settings

from ingest.messages import message
from ingest.parent_death import leashed
from webapp.reports.document import Report
from webapp.reports.renderers import html

NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "chrome-headless-shell",
)
WITHIN_S = 60
SHEET_PX = 688
"""What a sheet of A4 with our margins is wide, at 96 pixels an inch; charts are drawn for it."""
MOST_BYTES = 64 << 20
MOST_LOG_BYTES = 1 << 20
_NO_SANDBOX = message("No usable sandbox")


class NoPdf(Exception):
    """There is no PDF; the message says why and what to do."""


def chromium() -> str:
    """Path of the browser; raises :class:`NoPdf`."""
    wanted = settings.WEIR.chromium
    path = shutil.which(wanted) if wanted else next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        missing = (
            message("There is no {wanted:name} on this machine", wanted=str(wanted))
            if wanted
            else message("There is no Chromium on this machine")
        )
        raise NoPdf(
            message(
                "{missing:message}. Install it, or set WEIR_CHROMIUM to its path; or print the "
                "HTML file from any browser.",
                missing=missing,
            )
        )
    return path


def render(document: Report) -> bytes:
    """Raises :class:`NoPdf`."""
    browser = chromium()
    with tempfile.TemporaryDirectory(prefix="weir-pdf-", ignore_cleanup_errors=True) as folder:
        page, printed = Path(folder, "report.html"), Path(folder, "report.pdf")
        page.write_text(html.render(document, for_print=True), encoding="utf-8")
        reason = _print(browser, page, printed, sandbox=not _is_root())
        if _NO_SANDBOX in reason:
            reason = _print(browser, page, printed, sandbox=False)
        if not printed.is_file() or not 0 < printed.stat().st_size <= MOST_BYTES:
            raise NoPdf(
                message(
                    "Chromium printed nothing: {reason:name}. Print the HTML file from any browser "
                    "instead.",
                    reason=reason or message("it did not say why"),
                )
            )
        return printed.read_bytes()


def _print(browser: str, page: Path, printed: Path, *, sandbox: bool) -> str:
    """Returns the last thing it said."""
    folder = printed.parent
    command = [
        browser,
        *_flags(folder, sandbox=sandbox),
        f"--print-to-pdf={printed}",
        page.as_uri(),
    ]
    log = folder / "log"
    try:
        with log.open("wb") as output:
            _run(command, _environment(folder), output)
    except subprocess.TimeoutExpired as error:
        why = message(
            "It did not end within {within_s:number} s and was stopped.", within_s=WITHIN_S
        )
        raise NoPdf(
            message(
                "Chromium could not print: {why:message} Print the HTML file from any browser "
                "instead.",
                why=why,
            )
        ) from error
    except OSError as error:
        raise NoPdf(
            message(
                "Chromium could not print: {error:text}. Print the HTML file from any browser "
                "instead.",
                error=str(error),
            )
        ) from error
    with log.open("rb") as written:
        lines = written.read(MOST_LOG_BYTES).decode(errors="replace").splitlines()
    messages = [line.strip()[:300] for line in lines if line.strip()]
    return next(
        (line for line in messages if _NO_SANDBOX in line), messages[-1] if messages else ""
    )


def _run(command: Sequence[str], environment: Mapping[str, str], output: IO[bytes]) -> None:
    """Raises ``OSError`` and ``subprocess.TimeoutExpired``.

    Chromium forks: all of its session ends with it.
    """
    process = subprocess.Popen(
        leashed(command),
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
    )
    try:
        process.wait(WITHIN_S)
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _is_root() -> bool:
    return sys.platform == "linux" and os.geteuid() == 0


def _flags(folder: Path, *, sandbox: bool) -> list[str]:
    # Root has no sandbox to enter, and containers often allow none. What is opened is our own file,
    # whose policy runs nothing but our two scripts and asks nobody for anything.
    unsandboxed = [] if sandbox else ["--no-sandbox"]
    return [
        "--headless",
        *unsandboxed,
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--no-default-browser-check",
        "--disable-extensions",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-breakpad",
        "--proxy-server=127.0.0.1:9",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={folder / 'profile'}",
        f"--window-size={SHEET_PX},1200",
        "--hide-scrollbars",
        "--virtual-time-budget=15000",
        "--no-pdf-header-footer",
    ]


def _environment(folder: Path) -> dict[str, str]:
    """No secret of ours is handed on."""
    kept = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "FONTCONFIG_PATH", "FONTCONFIG_FILE")
    return {
        **{name: os.environ[name] for name in kept if name in os.environ},
        "HOME": str(folder),
        "TMPDIR": str(folder),
    }
