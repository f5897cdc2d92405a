"""`tilery.reduce`: reduce a module with a function that says whether a candidate is still interesting."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..ir import clone
from ..ops import Module
from ..verifier.verify import verify
from ..version import Version
from .case import Case, CaseLaunch
from .runners import InProcess
from .search import Reduction, Search


def reduce(
    module: Module,
    interesting: Callable[..., bool],
    *,
    launch: CaseLaunch | None = None,
    version: Version | str | None = None,
    seed: int = 0,
    seconds: float | None = None,
    log: str | os.PathLike[str] | None = None,
) -> Reduction:
    """Make a module smaller as long as `interesting(module)` is true, and return the smallest one found.

    With `launch`, the grid and the arguments are reduced too, and the call is `interesting(module, launch)`. Every
    candidate is legal; if the module is not, no candidate needs to be. `version` is the bytecode version that all
    candidates can be written in. `seed` selects the order of attempts: 0 is the usual one. After `seconds`, the
    smallest one so far is returned. `log` names a file that keeps what is known about candidates, so that a reduction
    that was interrupted goes on where it was.

    >>> import tilery
    >>> text = "%0 = addi %n, %n : tile<i32> %1 = negi %0 : tile<i32> %2 = absi %1 : tile<i32>"
    >>> module = tilery.parse(f"entry @kernel(%n: tile<i32>) {{ {text} return }}")
    >>> found = tilery.reduce(module, lambda m: any(o.name == "negi" for o in tilery.walk(m)))
    >>> print(found.case.module)
    entry @k(%arg0: tile<i32>) {
      %0 = negi %arg0 : tile<i32>
      return
    }
    <BLANKLINE>
    """

    def test(case: Case) -> str:
        answer: Any = interesting(case.module) if case.launch is None else interesting(case.module, case.launch)
        return "interesting" if answer else ""

    wanted = None if version is None else Version.parse(version)
    case = Case(clone(module), launch)
    search = Search(
        case,
        InProcess(test),
        legal=not verify(module, max_errors=1),
        version=wanted or module.version,
        seed=seed,
        seconds=seconds,
        log=None if log is None else Path(log),
    )
    return search.run()
