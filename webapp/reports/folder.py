"""The files of a report: below one folder, each put in its place whole."""

import os
import secrets
import shutil
from pathlib import Path

from django.conf import settings

NAMES = {"html": "report.html", "pdf": "report.pdf", "md": "report.md", "json": "report.json"}


class ReportFolder:
    """Of the report called ``uid``; made when the first file is kept."""

    def __init__(self, uid: str) -> None:
        self.path = Path(settings.WEIR.reports_root) / uid

    def keep(self, form: str, content: bytes) -> Path:
        """Write or replace a file; who reads it meanwhile sees the old one or the new one."""
        self.path.mkdir(mode=0o750, parents=True, exist_ok=True)
        path = self.path / NAMES[form]
        draft = self.path / f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}"
        try:
            draft.write_bytes(content)
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)
        return path

    def read(self, form: str) -> bytes | None:
        """``None`` where there is none on this machine."""
        try:
            return (self.path / NAMES[form]).read_bytes()
        except OSError:
            return None

    def has(self, form: str) -> bool:
        return (self.path / NAMES[form]).is_file()

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
