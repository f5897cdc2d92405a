"""Looking inside a launch, in the order in which the files import each other:

    names          what people call values, and the source lines of operations
    numbers        tiles as numbers, one line of text, statistics
    arrays         the arrays among the arguments: which element an address is
    expressions    NumPy expressions over tiles, without Python's `eval`
    trace          what a launch executed, as text, JSON lines or a Chrome trace
    watch          each value of a name, each write to an element
    pictures       access maps, heat maps and a timeline, as SVG, PNG and plain data
    difference     the first operation in which two launches differ
    instrument     stores of the values that a kernel computes
    engines        the first operation in which two engines differ

All but the last two sit on `launch(observe=...)`, see `engines/reference/observe.py`.
"""

from ..engines.reference.observe import Event, Observe, Observer
from .difference import FirstDifference, Run, first_difference
from .engines import EngineLaunch, EngineResult, first_engine_difference
from .expressions import evaluate
from .names import Source
from .pictures import AccessMap, HeatMap, Timeline, access_maps
from .trace import Trace
from .watch import watch_element, watch_value

__all__ = [
    "AccessMap", "EngineLaunch", "EngineResult", "Event", "FirstDifference", "HeatMap", "Observe", "Observer", "Run",
    "Source", "Timeline", "Trace", "access_maps", "evaluate", "first_difference", "first_engine_difference",
    "watch_element", "watch_value",
]  # fmt: skip
