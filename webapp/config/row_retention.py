"""How long rows are kept. The lake has its own retention."""

from datetime import timedelta

ROUTINE = timedelta(days=7)
"""Facts of checkpoints, pressure and log events of which nobody asks later."""
RUNS = timedelta(days=30)
"""What Weir itself did."""
NOTABLE = timedelta(days=90)
"""What failed, was slow or was found."""
YEARS = timedelta(days=730)
"""Sums by the day."""
