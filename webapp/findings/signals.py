from django.dispatch import Signal

findings_changed = Signal()
