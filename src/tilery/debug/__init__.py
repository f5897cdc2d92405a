"""The debugger, in the order in which the files import each other:

    marks, marker      `breakpoint()` in a cuTile kernel
    machine            executes one instruction at a time; goes back from checkpoints
    breakpoints        breakpoints and watchpoints
    watching           observers that notice writes, NaN and reports
    variables          the values of a tile block, by name
    state, stops       a stopped launch: where it is; what stops it
    session            the commands: go on, step, go back
    programs           kernels with arguments, and cuTile scripts
    terminal           commands as text, for a person or a script
    dap                the Debug Adapter Protocol, for editors

A `Session` is plain and synchronous: a front end calls its commands, each returns a `Stop`.
"""

from .session import Session
from .stops import Stop

__all__ = ["Session", "Stop"]
