"""Wait for another thread so that Ctrl-C can end the wait."""

from __future__ import annotations

import math
import time
from concurrent.futures import Future
from typing import TypeVar

ResultT = TypeVar("ResultT")

_SLICE_SECONDS = 0.5


def result_of(future: Future[ResultT], seconds: float = math.inf) -> ResultT:
    """Return the result of a future, or raise its exception, within a time limit.

    The system may hand a signal to any thread, and Python acts on it in the main thread alone, which a wait
    without end would keep from noticing.

    Raises:
        TimeoutError: It has no result in time.
    """
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > _SLICE_SECONDS:
        try:
            return future.result(_SLICE_SECONDS)
        except TimeoutError:
            # The future itself may have raised it.
            if future.done():
                break
    return future.result(max(left, 0))
