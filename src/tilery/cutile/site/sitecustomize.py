"""Python runs this when a process that finds it starts; see `tilery.cutile.children`."""

import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path

if "TILERY_CUTILE_ON" in os.environ:
    from tilery.cutile import children

    children.start()

    # Run the machine's own sitecustomize, which this one hides.
    here = Path(__file__).resolve().parent
    others = [each for each in sys.path if Path(each).resolve() != here]
    if (found := importlib.machinery.PathFinder.find_spec("sitecustomize", others)) and found.loader:
        found.loader.exec_module(importlib.util.module_from_spec(found))
