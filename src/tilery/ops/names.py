"""Names of operations that people try: mnemonics, their parts, and what other languages call them."""

from __future__ import annotations

from . import registered

ALSO: dict[str, tuple[str, ...]] = {
    "absf": ("ct.abs", "tl.abs"),
    "absi": ("ct.abs", "tl.abs"),
    "addf": ("ct.add", "tl.add", "plus"),
    "addi": ("ct.add", "tl.add", "plus"),
    "alloca": ("local memory", "scratch memory"),
    "andi": ("ct.bitwise_and", "logical and"),
    "assert": ("ct.assert_", "tl.device_assert"),
    "assume": ("ct.assume_divisible_by", "tl.assume", "tl.multiple_of", "tl.max_contiguous", "alignment promise"),
    "atan2": ("ct.atan2", "arc tangent"),
    "atomic_cas_tko": ("ct.atomic_cas", "tl.atomic_cas", "compare exchange", "lock"),
    "atomic_red_view_tko": ("atomic add to a view",),
    "atomic_rmw_tko": (
        "ct.atomic_add", "ct.atomic_max", "ct.atomic_xchg", "tl.atomic_add", "tl.atomic_max", "tl.atomic_xchg",
        "fetch add", "atomicAdd", "histogram", "counter",
    ),
    "bitcast": ("ct.bitcast", "reinterpret cast", "view as another type"),
    "break": ("leave a while loop",),
    "broadcast": ("ct.broadcast_to", "tl.broadcast_to", "expand"),
    "cat": ("ct.cat", "tl.cat", "tl.join", "concatenate"),
    "ceil": ("ct.ceil", "tl.ceil", "round up"),
    "cmpf": ("ct.less", "ct.equal", "ct.isnan", "compare floats"),
    "cmpi": ("ct.less", "ct.equal", "compare integers"),
    "constant": ("ct.full", "ct.zeros", "ct.ones", "tl.full", "tl.zeros", "literal", "immediate"),
    "divf": ("ct.truediv", "tl.fdiv", "tl.div_rn"),
    "divi": ("ct.floordiv", "ct.cdiv", "tl.cdiv", "quotient"),
    "entry": ("ct.kernel", "__tile_global__", "__global__"),
    "exp": ("ct.exp", "tl.exp", "exponential"),
    "exp2": ("ct.exp2", "tl.exp2"),
    "exti": ("ct.astype", "tl.cast", "sign extend", "zero extend"),
    "extract": ("ct.extract", "tl.split", "slice", "subtile"),
    "floor": ("ct.floor", "tl.floor", "round down"),
    "fma": ("tl.fma", "multiply-accumulate"),
    "for": ("range", "tl.range", "loop with a counter"),
    "fpowf": ("ct.pow", "power", "exponentiation"),
    "fpowi": ("ct.pow", "power", "exponentiation"),
    "ftof": ("ct.astype", "tl.cast", "downcast", "cast f32 to f16, bf16 or fp8"),
    "ftoi": ("ct.astype", "tl.cast", "float to int"),
    "gdc_launch_dependents_tko": (
        "ct.grid_dependency_control_launch_dependents", "programmatic dependent launch", "PDL",
    ),
    "gdc_wait_tko": ("ct.grid_dependency_control_wait", "programmatic dependent launch", "PDL"),
    "get_index_space_shape": ("ct.num_tiles",),
    "get_num_tile_blocks": ("ct.num_blocks", "tl.num_programs", "gridDim"),
    "get_tensor_shape": ("array.shape", "size of an array"),
    "get_tile_block_id": ("ct.bid", "tl.program_id", "blockIdx", "block index"),
    "if": ("branch", "conditional"),
    "insert": ("ct.insert", "slice assignment"),
    "iota": ("ct.arange", "tl.arange", "range of integers", "lane index"),
    "itof": ("ct.astype", "tl.cast", "int to float"),
    "load_ptr_tko": ("ct.gather", "tl.load", "masked load", "indirect load", "dereference"),
    "load_view_tko": ("ct.load", "tl.load_tensor_descriptor", "TMA load"),
    "log": ("ct.log", "tl.log", "ln"),
    "log2": ("ct.log2", "tl.log2"),
    "loop": ("while",),
    "make_gather_scatter_view": ("gather rows", "embedding lookup"),
    "make_partition_view": ("tiled view", "ct.load"),
    "make_tensor_view": ("ct.Array", "tl.make_tensor_descriptor", "tensor descriptor", "tensor map"),
    "maxf": ("ct.maximum", "tl.maximum", "fmax", "clamp"),
    "maxi": ("ct.maximum", "tl.maximum", "clamp"),
    "memory_fence_alias_tko": ("proxy fence",),
    "minf": ("ct.minimum", "tl.minimum", "fmin", "clamp"),
    "mini": ("ct.minimum", "tl.minimum", "clamp"),
    "mmaf": ("ct.mma", "ct.matmul", "tl.dot", "gemm", "matmul", "matrix multiplication", "tensor cores"),
    "mmaf_scaled": ("ct.mma_scaled", "tl.dot_scaled", "mxfp8", "nvfp4", "microscaling", "block scales"),
    "mmai": ("ct.mma", "tl.dot", "int8 gemm", "matmul", "matrix multiplication"),
    "mulf": ("ct.mul", "tl.mul", "times"),
    "mulhii": ("tl.umulhi", "high word of a product"),
    "muli": ("ct.mul", "tl.mul", "times"),
    "negf": ("ct.negative", "minus"),
    "negi": ("ct.negative", "minus"),
    "offset": ("pointer arithmetic", "advance a pointer"),
    "ori": ("ct.bitwise_or", "logical or"),
    "pack": ("ct.pack_to_bytes", "pack two 4-bit elements into a byte"),
    "permute": ("ct.permute", "ct.transpose", "tl.permute", "tl.trans", "transpose", "swap axes"),
    "print_tko": ("ct.printf", "ct.print", "tl.device_print", "printf"),
    "reduce": (
        "ct.sum", "ct.max", "ct.prod", "ct.argmax", "ct.reduce", "tl.sum", "tl.max", "tl.argmax", "tl.reduce",
        "row sum", "mean", "norm",
    ),
    "remf": ("ct.mod", "fmod", "modulo"),
    "remi": ("ct.mod", "modulo", "remainder"),
    "reshape": ("ct.reshape", "ct.expand_dims", "tl.reshape", "tl.view", "tl.expand_dims", "flatten", "squeeze"),
    "rsqrt": ("ct.rsqrt", "tl.rsqrt", "inverse square root"),
    "scan": (
        "ct.cumsum", "ct.cumprod", "ct.scan", "tl.cumsum", "tl.cumprod", "tl.associative_scan",
        "cumulative sum", "running total",
    ),
    "select": ("ct.where", "tl.where", "ternary", "mask", "predicate"),
    "shli": ("ct.bitwise_lshift", "left shift"),
    "shri": ("ct.bitwise_rshift", "right shift"),
    "sqrt": ("ct.sqrt", "tl.sqrt", "tl.sqrt_rn"),
    "store_ptr_tko": ("ct.scatter", "tl.store", "masked store", "indirect store"),
    "store_view_tko": ("ct.store", "tl.store_tensor_descriptor", "TMA store"),
    "subf": ("ct.sub", "tl.sub", "minus"),
    "subi": ("ct.sub", "tl.sub", "minus"),
    "trunci": ("ct.astype", "tl.cast", "truncate"),
    "unpack": ("ct.unpack_from_bytes", "unpack 4-bit elements"),
    "xori": ("ct.bitwise_xor", "ct.bitwise_not", "logical not"),
}  # fmt: skip
"""Names of operations in cuTile (`ct`), Triton (`tl`), CUDA and everyday words."""


def also(mnemonic: str) -> tuple[str, ...]:
    """Return the names that an operation has elsewhere."""
    return ALSO.get(mnemonic, ())


def similar(name: str) -> list[str]:
    """Return mnemonics that contain a word, have it as a name elsewhere, or resemble it.

    >>> similar("matmul"), similar("load")[0]
    (['mmaf', 'mmai'], 'load_ptr_tko')
    >>> similar("tl.cumsum"), similar("cumsum")
    (['scan'], ['scan'])
    """
    from difflib import get_close_matches

    known = [d.mnemonic for d in registered()]
    word = name.lower().removeprefix("cuda_tile.")
    found = [op for op in known if word in op.split("_") or op.startswith(word)]
    found = found or [op for op in known if any(word in (other.lower(), _last(other)) for other in also(op))]
    return sorted(found) or get_close_matches(word, known, 3)


def _last(name: str) -> str:
    """Return a name without the module that it is in."""
    return name.rpartition(".")[2].lower()
