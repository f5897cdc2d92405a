"""The command line: one verb per subcommand."""

from __future__ import annotations

import atexit
import gc
import os
import sys

__all__ = ["program"]


def program() -> int:
    """Run the command as a process of its own, which ends so soon that collecting garbage is rarely worth it."""
    gc.set_threshold(500_000)  # before anything is imported
    from .main import main

    status = main()
    if "threading" not in sys.modules and not atexit._ncallbacks():
        # Nothing is left to do, and freeing every object takes as long as printing a small file.
        sys.stderr.flush()
        os._exit(status)
    if "triton" not in sys.modules:  # its extension reports objects that are not freed as leaks
        gc.freeze()
    return status
