"""What changes settings of Weir in a test."""

from collections.abc import Callable

WeirSettings = Callable[..., None]
"""Takes fields of ``settings.WEIR`` by name; all are as before when the test ends."""
