"""Errors that stop a clean-up. Each message says what to do next."""

from webapp.lib.refusals import ActionRefused


class CleanupError(Exception):
    """The base class; its message may be shown to users."""


class PlanRefused(ActionRefused, CleanupError):
    """No plan was made: the request makes no sense, or nothing may be cleaned."""


class PlanDamaged(CleanupError):
    """The plan's files do not have the hash that is its name. The plan is never applied."""


class PlanActionRefused(ActionRefused, CleanupError):
    """Nothing was done: the plan is not approved, has expired, or is in another state."""


class Halted(CleanupError):
    """A doubt stopped the plan. The journal says what was done until then."""


class PutBack(Halted):
    """A retained checkpoint missed files of the plan. All files were put back; the plan has ended."""
