"""gunicorn's own lines in the form of all others."""

import os

from gunicorn.config import Config
from gunicorn.glogging import Logger

from ingest import log_lines


class FormedLogger(Logger):
    """As text they stay as gunicorn writes them; as JSON they are objects like the others."""

    def setup(self, cfg: Config) -> None:
        super().setup(cfg)
        if os.environ.get(log_lines.FORMAT) == log_lines.JSON:
            for handler in (*self.error_log.handlers, *self.access_log.handlers):
                handler.setFormatter(log_lines.JsonFormatter())
