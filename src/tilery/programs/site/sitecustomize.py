"""Python runs this when a process that finds it starts; see `tilery.programs.children`.

The process may belong to another environment, so this must not fail, and not need a recent Python.
"""

import importlib.machinery
import importlib.util
import os
import sys


def run_hidden() -> None:
    """Run the machine's own sitecustomize, which this one hides."""
    here = os.path.dirname(os.path.realpath(__file__))
    others = [each for each in sys.path if os.path.realpath(each) != here]
    found = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if found is not None and found.loader is not None:
        module = sys.modules["sitecustomize"] = importlib.util.module_from_spec(found)
        found.loader.exec_module(module)


run_hidden()
if "TILERY_PROGRAMS_ON" in os.environ:
    try:
        from tilery.programs import children

        children.start()
    except Exception:  # this environment has no tilery, or lacks what it needs
        pass
