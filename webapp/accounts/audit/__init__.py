"""The audit log: one row for each write and each sign-in. django-auditlog misses refused writes."""
