"""The due work of the demo, until all its examples exist."""

from webapp.site import demo_tour
from webapp.storage.due_work import TASK
from webapp.work.registry import MINUTE_S, Work, register

register(
    Work(
        demo_tour.KEY,
        TASK,
        every=lambda: {demo_tour.KEY: MINUTE_S // 4} if demo_tour.is_due() else {},
        has_work=lambda _attempt: demo_tour.has_work(),
        do=demo_tour.do_steps,
    )
)
