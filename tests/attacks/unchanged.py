"""Whether the database is the one it was: every row of every table, and every statement that would
write.
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.db import connection, transaction

OF_SIGN_INS = {"django_session", "accounts_signinfailures", "accounts_auditentry"}
"""Whoever looks at a page has a session; it is nobody's data.

What was refused is in the audit log all the same.
"""
NOTED = {"accounts_apitoken": ("last_used_at",), "accounts_user": ("last_login",)}
"""Columns that note a visit."""
WRITING = ("INSERT", "UPDATE", "DELETE", "REPLACE", "ALTER", "DROP", "CREATE")


def snapshot() -> dict[str, str]:
    """Table → digest of its rows; those of relations between tables too."""
    found = {}
    for model in apps.get_models(include_auto_created=True):
        table = model._meta.db_table
        if table in OF_SIGN_INS:
            continue
        columns = [
            field.attname
            for field in model._meta.concrete_fields
            if field.column not in NOTED.get(table, ())
        ]
        rows = sorted(map(repr, model._default_manager.values_list(*columns)))
        found[table] = (
            f"{len(rows)} "
            f"{hashlib.sha256(''.join(rows).encode(errors='surrogatepass')).hexdigest()}"
        )
    return found


@contextmanager
def statements() -> Iterator[list[str]]:
    """Statements that write, but for those that only note a visit."""
    seen: list[str] = []

    def look(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if sql.lstrip().upper().startswith(WRITING) and not _is_a_visit(sql):
            seen.append(sql[:200])
        return execute(sql, params, many, context)

    with connection.execute_wrapper(look):
        yield seen


@contextmanager
def taken_back() -> Iterator[None]:
    """What happens within did not happen."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def _is_a_visit(sql: str) -> bool:
    noted = (f'UPDATE "{table}" SET "{columns[0]}"' for table, columns in NOTED.items())
    return any(table in sql for table in OF_SIGN_INS) or sql.startswith(tuple(noted))
