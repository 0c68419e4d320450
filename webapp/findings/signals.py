from django.dispatch import Signal

findings_changed = Signal()
"""Some began, ended or changed; sent in the transaction that writes them."""
