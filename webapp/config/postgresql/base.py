"""Django's database backend; it makes connections that notice a silent server."""

from typing import Any

from django.db.backends.postgresql import base
from django.db.backends.postgresql.psycopg_any import IsolationLevel

from webapp.config.postgresql.listening import ListeningConnection


class DatabaseWrapper(base.DatabaseWrapper):
    def get_new_connection(self, conn_params: dict[str, Any]) -> ListeningConnection:
        """Without what no URL can ask for: a pool and a level of isolation."""
        self.isolation_level = IsolationLevel.READ_COMMITTED
        return ListeningConnection.connect(**conn_params)
