"""Programs that a test starts end with the test, however that ends."""
import ctypes
import signal

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def with_us(how):
    """In a child before exec: it gets this signal when the thread that started it ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, how)


def die_with_us():
    """In a child before exec: it is killed."""
    with_us(signal.SIGKILL)


def end_with_us():
    """In a child before exec: it is asked to end. A service ends its private database then, which lives on when the
    service is killed."""
    with_us(signal.SIGTERM)


def adopt_orphans():
    """A process whose parent has ended becomes a child of this one, which can wait for it."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
