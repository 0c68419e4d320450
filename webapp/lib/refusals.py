"""Actions of people that cannot be done now, as pages, API and commands report them."""


class ActionRefused(ValueError):
    """Nothing was done. The message says why and is safe to show."""
