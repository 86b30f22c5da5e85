"""Tests of what may not be written to, which root may in spite of all permissions."""

import ctypes
import os
import traceback

# Of `linux/capability.h`.
_VERSION = 0x20080522


def run(function):
    """Calls a function in a forked process that has no privileges; gives the status that it returns."""
    child = os.fork()
    if child == 0:
        status = 99
        try:
            _drop_privileges()
            status = function()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _drop_privileges():
    """Gives up all capabilities of this process: permissions hold for its user, too."""
    header, none = (ctypes.c_uint32 * 2)(_VERSION, 0), (ctypes.c_uint32 * 6)()
    if ctypes.CDLL(None, use_errno=True).capset(header, none):
        raise OSError(ctypes.get_errno(), "capset")
