"""The test-only function of the dialect. NVIDIA's tests are written with it; bytecode has no encoding for it."""

from __future__ import annotations

from ..attrs import Attr
from ..declare.fields import AttrKind, attr, optional_attr, region
from ..declare.operation import Op, op
from ..declare.relations import FUNCTION, ISOLATED, SYMBOL, TOP_LEVEL
from ..ir import Block
from ..types import Function
from ..version import TESTING
from .checks import Answer, function_arguments
from .scopes import body_locations, function_location


@op("testing$func", 0x3001, since=TESTING, group="Testing", traits=[ISOLATED, SYMBOL, FUNCTION, TOP_LEVEL],
    implicit="return", format="custom",
    syntax="$sym_name `(` %parameter `:` type($function_type) `,` ... `)` `->` type($function_type) "
           "blocks($body) attr-dict",
    example="""
        testing$func @f(%a: tile<4xf32>) -> tile<4xf32> {
          return %a : tile<4xf32>
        }""")
class TestFunc(Op):
    """A function with parameters and results of any type."""

    __test__ = False  # pytest must not collect it because of its name
    sym_name: str = attr(AttrKind.SYM_NAME, "The name.")
    function_type: Function = attr(AttrKind.TYPE, "The types of the parameters and results.")
    arg_attrs: tuple[Attr, ...] | None = optional_attr(AttrKind.ARRAY, "Attributes of the parameters.")
    res_attrs: tuple[Attr, ...] | None = optional_attr(AttrKind.ARRAY, "Attributes of the results.")
    body: Block = region("The code; its arguments are the parameters.")

    def check(self) -> Answer:
        return function_arguments(self, self.body) or function_location(self)

    def check_locations(self, inside: set[Attr | None]) -> Answer:
        return body_locations(self, inside)
