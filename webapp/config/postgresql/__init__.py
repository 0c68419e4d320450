"""Django's PostgreSQL, whose server is not waited for when it falls silent."""
