"""What others may hear of people."""

from django.dispatch import Signal

access_changed = Signal()
"""``user_id`` may do or see something else now, or their sessions ended; sent where rows are written without Django's own signals."""
