from deltalake.exceptions import CommitFailedError
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_random_exponential

GIVE_UP_COMMIT_AFTER_S = 120


def commit_attempts() -> Retrying:
    return Retrying(
        retry=retry_if_exception_type(CommitFailedError),
        wait=wait_random_exponential(multiplier=0.02, max=1),
        stop=stop_after_delay(GIVE_UP_COMMIT_AFTER_S),
        reraise=True,
    )
