"""Rows of due work keep the label, and so the tables, that they were made under."""

from django.apps import AppConfig


class WorkConfig(AppConfig):
    name = "webapp.work"
    label = "pipeline"
