def is_due(now_s: float, last_s: float, every_s: float) -> bool:
    """True also if ``last_s`` lies ahead, since then the clock was set back."""
    return not 0 <= now_s - last_s < every_s


def still_waits(now_s: float, due_s: float, longest_s: float) -> bool:
    """False also if ``due_s`` is over ``longest_s`` ahead: then the clock was set back."""
    return 0 < due_s - now_s <= longest_s
