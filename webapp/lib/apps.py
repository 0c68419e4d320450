"""Makes pages show messages in the reader's language."""

from django.apps import AppConfig

from ingest.messages import Message
from webapp.lib.messages.rendering import localised


class LibConfig(AppConfig):
    name = "webapp.lib"

    def ready(self) -> None:
        Message.in_language = staticmethod(localised)
