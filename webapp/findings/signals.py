from django.dispatch import Signal

findings_changed = Signal()
"""Findings were opened, closed or changed."""
