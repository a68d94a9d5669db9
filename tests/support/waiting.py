"""Waiting for something that another process does: never a fixed sleep, always a deadline."""

import time

# Generous, for sanitizer builds on a busy machine. A test that passes never waits for it.
DEADLINE = 60.0
PAUSE = 0.01


def wait_until(check, what, seconds=DEADLINE):
    """Returns the first true value of check(); fails with `what` when none comes in time."""
    until = time.monotonic() + seconds
    while True:
        value = check()
        if value:
            return value
        if time.monotonic() > until:
            raise AssertionError(f"{what}: not within {seconds:.0f} seconds")
        time.sleep(PAUSE)
