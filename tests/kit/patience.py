"""How long tests wait, as patience.h says it: every limit is a multiple of PATIENCE_S, or less, and is scaled by how slow
the machine is at that moment. build/test measures that; without it, as in `make fault`, the machine counts as quiet."""
import os
import struct
import time

PATIENCE_S = 10     # the time that a step may take on a machine that has nothing else to do


def factor():
    """How many times slower than a quiet machine this one is now: 1 or more."""
    try:
        with open(f'{os.environ["TEST_DIR"]}/patience', 'rb') as file:
            return max(1.0, struct.unpack('d', file.read(8))[0])
    except (KeyError, OSError, struct.error):
        return 1.0


def scaled(seconds):
    """The seconds that so many of a quiet machine are now."""
    return seconds * factor()


def is_over(began, seconds):
    """True: since `began` (time.monotonic) more than that has passed. For loops: the machine may become slower."""
    return time.monotonic() - began > scaled(seconds)
