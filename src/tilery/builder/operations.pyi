# Made by `python -m tilery.manual.methods` from the declarations in src/tilery/ops. Do not edit.

from collections.abc import Mapping, Sequence
from typing import Any

from ..attrs import Attr, Dense, OptimizationHints
from ..enums import (
    AtomicRMWMode,
    ComparisonOrdering,
    ComparisonPredicate,
    IntegerOverflow,
    MemoryOrderingSemantics,
    MemoryScope,
    RoundingMode,
    Signedness,
)
from ..ir import Value
from ..types import Type

Number = int | float | bool
Operand = Value | Number

class Operations:
    def op(self, name: str, /, *args: Any, **kwargs: Any) -> Any: ...
    def absf(self, source: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """Absolute value."""
    def absi(self, source: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """Absolute value of signed integers; the result is unsigned."""
    def addf(
        self,
        lhs: Operand,
        rhs: Operand,
        *,
        rounding_mode: RoundingMode | str = ...,
        flush_to_zero: bool = ...,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """Floating-point addition."""
    def addi(
        self,
        lhs: Operand,
        rhs: Operand,
        *,
        overflow: IntegerOverflow | str = ...,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """Integer addition."""
    def alloca(
        self,
        num_elem: int,
        alignment: int,
        *,
        global_: bool = ...,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """Allocate memory that lives until the enclosing block ends."""
    def andi(self, lhs: Operand, rhs: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """Bitwise and."""
    def assert_(self, condition: Operand, message: str) -> None:
        """Report an error to the host if a condition does not hold."""
    def assume(self, value: Operand, predicate: Attr, *, result: Type | str | Value | None = ...) -> Value:
        """Promise that a predicate holds for a value. Breaking the promise is undefined behaviour."""
    def atan2(self, x: Operand, y: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """The angle with tangent x / y, in the quadrant that the signs determine."""
    def atomic_cas_tko(
        self,
        memory_ordering_semantics: MemoryOrderingSemantics | str,
        memory_scope: MemoryScope | str,
        pointers: Operand,
        cmp: Operand,
        val: Operand,
        *,
        mask: Operand | None = ...,
        token: Operand | None = ...,
        result: Type | str | Value | None = ...,
        result_token: Type | str | Value | None = ...,
    ) -> tuple[Value, Value]:
        """Atomic compare-and-swap: replace elements in memory that equal `cmp`. Floats are compared by their bits."""
    def atomic_red_view_tko(
        self,
        memory_ordering_semantics: MemoryOrderingSemantics | str,
        memory_scope: MemoryScope | str,
        view: Operand,
        index: Operand | Sequence[Operand],
        mode: AtomicRMWMode | str,
        value: Operand,
        *,
        token: Operand | None = ...,
        result_token: Type | str | Value | None = ...,
    ) -> Value:
        """Atomic reduction: combine a tile with memory through a view, element by element."""
    def atomic_rmw_tko(
        self,
        memory_ordering_semantics: MemoryOrderingSemantics | str,
        memory_scope: MemoryScope | str,
        pointers: Operand,
        mode: AtomicRMWMode | str,
        arg: Operand,
        *,
        mask: Operand | None = ...,
        token: Operand | None = ...,
        result: Type | str | Value | None = ...,
        result_token: Type | str | Value | None = ...,
    ) -> tuple[Value, Value]:
        """Atomic read-modify-write: combine elements with memory and return the old ones."""
    def ceil(self, source: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """Round up to an integer."""
    def cmpf(
        self,
        comparison_predicate: ComparisonPredicate | str,
        comparison_ordering: ComparisonOrdering | str,
        lhs: Operand,
        rhs: Operand,
        *,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """Floating-point comparison."""
    def cmpi(
        self,
        comparison_predicate: ComparisonPredicate | str,
        lhs: Operand,
        rhs: Operand,
        signedness: Signedness | str,
        *,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """Integer comparison."""
    def constant(self, value: Dense, *, result: Type | str | Value | None = ...) -> Value:
        """A constant tile."""
    def cos(self, source: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """Cosine."""
    def cosh(self, source: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """Hyperbolic cosine."""
    def divf(
        self,
        lhs: Operand,
        rhs: Operand,
        *,
        rounding_mode: RoundingMode | str = ...,
        flush_to_zero: bool = ...,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """Floating-point division; `approx` and `full` are faster and less accurate (f32 only)."""
    def divi(
        self,
        lhs: Operand,
        rhs: Operand,
        signedness: Signedness | str,
        *,
        rounding: RoundingMode | str = ...,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """Integer division."""
    def exp(
        self,
        source: Operand,
        *,
        rounding_mode: RoundingMode | str = ...,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """e to the power of each element."""
    def exp2(self, source: Operand, *, flush_to_zero: bool = ..., result: Type | str | Value | None = ...) -> Value:
        """Two to the power of each element."""
    def exti(self, from_: Operand, signedness: Signedness | str, *, to: Type | str | Value | None = ...) -> Value:
        """Widen integers."""
    def floor(self, source: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """Round down to an integer."""
    def fma(
        self,
        lhs: Operand,
        rhs: Operand,
        acc: Operand,
        *,
        rounding_mode: RoundingMode | str = ...,
        flush_to_zero: bool = ...,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """Fused multiply-add: the product plus `acc`, rounded once."""
    def fpowf(self, source: Operand, exponent: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """Raise each element to a floating-point power. Tools before 13.4 call it `pow`."""
    def fpowi(self, source: Operand, exponent: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """Raise each element to a signed integer power."""
    def ftof(
        self,
        from_: Operand,
        *,
        rounding_mode: RoundingMode | str = ...,
        to: Type | str | Value | None = ...,
    ) -> Value:
        """Convert between float types."""
    def ftoi(
        self,
        from_: Operand,
        signedness: Signedness | str,
        *,
        rounding_mode: RoundingMode | str = ...,
        saturating: bool = ...,
        to: Type | str | Value | None = ...,
    ) -> Value:
        """Convert floats to integers, rounding towards zero."""
    def gdc_launch_dependents_tko(
        self,
        *,
        token: Operand | None = ...,
        result_token: Type | str | Value | None = ...,
    ) -> Value:
        """Allow dependent kernels to start before this one ends."""
    def gdc_wait_tko(self, *, token: Operand | None = ..., result_token: Type | str | Value | None = ...) -> Value:
        """Wait until the kernels that this one depends on have written their results."""
    def get_index_space_shape(self, src: Operand, *, result: Sequence[Type | str] | None = ...) -> tuple[Value, ...]:
        """The number of tiles of a view along each dimension."""
    def get_num_tile_blocks(
        self,
        *,
        gridSize_x: Type | str | Value | None = ...,
        gridSize_y: Type | str | Value | None = ...,
        gridSize_z: Type | str | Value | None = ...,
    ) -> tuple[Value, Value, Value]:
        """The size of the grid."""
    def get_tensor_shape(self, src: Operand, *, result: Sequence[Type | str] | None = ...) -> tuple[Value, ...]:
        """The size of a tensor along each dimension."""
    def get_tile_block_id(
        self,
        *,
        blockId_x: Type | str | Value | None = ...,
        blockId_y: Type | str | Value | None = ...,
        blockId_z: Type | str | Value | None = ...,
    ) -> tuple[Value, Value, Value]:
        """The position of this tile block in the grid."""
    def insert(
        self,
        source: Operand,
        destination: Operand,
        indices: Operand | Sequence[Operand],
        *,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """Replace a part of a tile."""
    def int_to_ptr(self, source: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """Convert addresses to pointers."""
    def itof(
        self,
        from_: Operand,
        signedness: Signedness | str,
        *,
        rounding_mode: RoundingMode | str = ...,
        to: Type | str | Value | None = ...,
    ) -> Value:
        """Convert integers to floats."""
    def join_tokens(self, tokens: Operand | Sequence[Operand], *, result: Type | str | Value | None = ...) -> Value:
        """Join tokens into one."""
    def load_ptr_tko(
        self,
        memory_ordering_semantics: MemoryOrderingSemantics | str,
        source: Operand,
        *,
        memory_scope: MemoryScope | str | None = ...,
        mask: Operand | None = ...,
        paddingValue: Operand | None = ...,
        token: Operand | None = ...,
        optimization_hints: OptimizationHints | Mapping[str, Mapping[str, int]] | None = ...,
        result: Type | str | Value | None = ...,
        result_token: Type | str | Value | None = ...,
    ) -> tuple[Value, Value]:
        """Load elements through pointers. Only tokens order the access."""
    def load_view_tko(
        self,
        memory_ordering_semantics: MemoryOrderingSemantics | str,
        view: Operand,
        index: Operand | Sequence[Operand],
        *,
        memory_scope: MemoryScope | str | None = ...,
        token: Operand | None = ...,
        optimization_hints: OptimizationHints | Mapping[str, Mapping[str, int]] | None = ...,
        inbounds: Sequence[bool] | None = ...,
        tile: Type | str | Value | None = ...,
        result_token: Type | str | Value | None = ...,
    ) -> tuple[Value, Value]:
        """Load a tile through a view. Only tokens order the access."""
    def log(self, source: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """Natural logarithm."""
    def log2(self, source: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """Logarithm to base two."""
    def make_gather_scatter_view(self, tensor_view: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """Make a view whose sparse dimension is addressed by a tile of positions."""
    def make_partition_view(self, tensor_view: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """Make a view of a tensor as a grid of tiles."""
    def make_strided_view(self, tensor_view: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """Make a view of a tensor as a grid of tiles that may overlap or leave gaps."""
    def make_tensor_view(
        self,
        base: Operand,
        dynamicShape: Operand | Sequence[Operand],
        dynamicStrides: Operand | Sequence[Operand],
        *,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """Make a view of a tensor in memory from its address, sizes and strides."""
    def make_token(self, *, result: Type | str | Value | None = ...) -> Value:
        """Make a token that is ordered after nothing."""
    def maxf(
        self,
        lhs: Operand,
        rhs: Operand,
        *,
        propagate_nan: bool = ...,
        flush_to_zero: bool = ...,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """The larger of two floats; +0 is larger than -0."""
    def maxi(
        self,
        lhs: Operand,
        rhs: Operand,
        signedness: Signedness | str,
        *,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """The larger of two integers."""
    def memory_fence_alias_tko(self, token: Operand, *, result_token: Type | str | Value | None = ...) -> Value:
        """Order accesses to the same memory through different addresses."""
    def minf(
        self,
        lhs: Operand,
        rhs: Operand,
        *,
        propagate_nan: bool = ...,
        flush_to_zero: bool = ...,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """The smaller of two floats; -0 is smaller than +0."""
    def mini(
        self,
        lhs: Operand,
        rhs: Operand,
        signedness: Signedness | str,
        *,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """The smaller of two integers."""
    def mmaf(
        self,
        lhs: Operand,
        rhs: Operand,
        acc: Operand,
        *,
        fast_acc: bool = ...,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """Floating-point matrix product plus accumulator."""
    def mmaf_scaled(
        self,
        lhs: Operand,
        rhs: Operand,
        acc: Operand,
        lhs_scale: Operand,
        rhs_scale: Operand,
        *,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """Matrix product of block-scaled narrow floats plus accumulator."""
    def mmai(
        self,
        lhs: Operand,
        rhs: Operand,
        acc: Operand,
        signedness_lhs: Signedness | str,
        signedness_rhs: Signedness | str,
        *,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """Integer matrix product plus accumulator."""
    def mulf(
        self,
        lhs: Operand,
        rhs: Operand,
        *,
        rounding_mode: RoundingMode | str = ...,
        flush_to_zero: bool = ...,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """Floating-point multiplication."""
    def mulhii(self, x: Operand, y: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """The upper half of the unsigned product."""
    def muli(
        self,
        lhs: Operand,
        rhs: Operand,
        *,
        overflow: IntegerOverflow | str = ...,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """Integer multiplication."""
    def negf(self, source: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """Floating-point negation."""
    def negi(
        self,
        source: Operand,
        *,
        overflow: IntegerOverflow | str = ...,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """Integer negation."""
    def offset(self, ptr: Operand, offset: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """Advance pointers by a number of elements."""
    def ori(self, lhs: Operand, rhs: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """Bitwise or."""
    def pack(self, source: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """Pack the bits of narrow elements into bytes, first elements in the low bits."""
    def print_tko(
        self,
        str_: str,
        args: Operand | Sequence[Operand],
        *,
        token: Operand | None = ...,
        result_token: Type | str | Value | None = ...,
    ) -> Value:
        """Print formatted text. Only tokens order the output. Until 13.1 it was called `print`."""
    def ptr_to_int(self, source: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """Convert pointers to addresses."""
    def ptr_to_ptr(self, source: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """Convert pointers to another type, keeping the addresses."""
    def remf(self, lhs: Operand, rhs: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """Remainder of division towards zero; it has the sign of the dividend."""
    def remi(
        self,
        lhs: Operand,
        rhs: Operand,
        signedness: Signedness | str,
        *,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """Remainder of division towards zero; it has the sign of the dividend."""
    def rsqrt(self, source: Operand, *, flush_to_zero: bool = ..., result: Type | str | Value | None = ...) -> Value:
        """Reciprocal square root."""
    def shli(
        self,
        lhs: Operand,
        rhs: Operand,
        *,
        overflow: IntegerOverflow | str = ...,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """Shift left; the shift amount is unsigned."""
    def shri(
        self,
        lhs: Operand,
        rhs: Operand,
        signedness: Signedness | str,
        *,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """Shift right, arithmetically if signed; the shift amount is unsigned."""
    def sin(self, source: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """Sine."""
    def sinh(self, source: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """Hyperbolic sine."""
    def sqrt(
        self,
        source: Operand,
        *,
        rounding_mode: RoundingMode | str = ...,
        flush_to_zero: bool = ...,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """Square root; `approx` is faster and less accurate (f32 only)."""
    def store_ptr_tko(
        self,
        memory_ordering_semantics: MemoryOrderingSemantics | str,
        destination: Operand,
        value: Operand,
        *,
        memory_scope: MemoryScope | str | None = ...,
        mask: Operand | None = ...,
        token: Operand | None = ...,
        optimization_hints: OptimizationHints | Mapping[str, Mapping[str, int]] | None = ...,
        result_token: Type | str | Value | None = ...,
    ) -> Value:
        """Store elements through pointers. Only tokens order the access."""
    def store_view_tko(
        self,
        memory_ordering_semantics: MemoryOrderingSemantics | str,
        tile: Operand,
        view: Operand,
        index: Operand | Sequence[Operand],
        *,
        memory_scope: MemoryScope | str | None = ...,
        token: Operand | None = ...,
        optimization_hints: OptimizationHints | Mapping[str, Mapping[str, int]] | None = ...,
        inbounds: Sequence[bool] | None = ...,
        result_token: Type | str | Value | None = ...,
    ) -> Value:
        """Store a tile through a view. Only tokens order the access."""
    def subf(
        self,
        lhs: Operand,
        rhs: Operand,
        *,
        rounding_mode: RoundingMode | str = ...,
        flush_to_zero: bool = ...,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """Floating-point subtraction."""
    def subi(
        self,
        lhs: Operand,
        rhs: Operand,
        *,
        overflow: IntegerOverflow | str = ...,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """Integer subtraction."""
    def tan(self, source: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """Tangent."""
    def tanh(
        self,
        source: Operand,
        *,
        rounding_mode: RoundingMode | str = ...,
        result: Type | str | Value | None = ...,
    ) -> Value:
        """Hyperbolic tangent; `approx` is faster and less accurate (f32 only)."""
    def trunci(
        self,
        from_: Operand,
        *,
        overflow: IntegerOverflow | str = ...,
        to: Type | str | Value | None = ...,
    ) -> Value:
        """Narrow integers by discarding their upper bits."""
    def unpack(self, source: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """Unpack narrow elements from bytes, first elements from the low bits."""
    def xori(self, lhs: Operand, rhs: Operand, *, result: Type | str | Value | None = ...) -> Value:
        """Bitwise exclusive or."""
