from webapp.pressure.hours import sum_up
from webapp.work.registry import MAINTAIN_TASK, MINUTE_S, Work, register

HOURS = "pressure/hours"

register(Work(HOURS, MAINTAIN_TASK, every=lambda: {HOURS: 15 * MINUTE_S}, do=sum_up))
