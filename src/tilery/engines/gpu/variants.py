"""Variants: the ways to compile a kernel for a GPU. The default follows from rules, without measuring."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...diag import ErrorKind, TileError
from ...ops import Entry, Global, Module
from ..ahead import transpose_ahead, transposing_kernel
from ..common.kernel import find_entry, refuse_options
from ..cuda.contract import Ahead
from ..cuda.launch import Binary, global_bytes
from ..rows import split_rows
from ..tileiras import launch as tileiras
from ..triton import launch as triton
from ..triton.compiler import CompileProcess, compile_entry
from ..work import Work

COMPILERS = ("triton", "tileiras")
SHORT = {
    "num_warps": "w",
    "num_stages": "s",
    "unroll": "unroll",
    "pipeline": "pipe",
    "gluon": "gluon",
    "programs": "p",
    "level": "O",
    "num_cta_in_cga": "cta",
    "occupancy": "occ",
}
"""The abbreviations of options in labels, before their value."""
TRANSPOSE = "transpose"
"""An option of both compilers: the right operand of products is transposed before each launch, see `ahead`."""
SPLIT = "split"
"""An option of both compilers: two tile blocks share the rows of one, see `rows`."""
OPTIONS: dict[str, tuple[str, ...]] = {
    "triton": (*triton.OPTIONS, TRANSPOSE, SPLIT),
    "tileiras": (*tileiras.OPTIONS, TRANSPOSE, SPLIT),
}

ONE_EACH, TWO_EACH = 148, 300
"""About as many tile blocks as a large GPU has processors, and twice as many: few that hide each other's waiting."""
HELD = 50_000
"""Words of live tiles that tileiras keeps in registers with two blocks for each processor."""
SMALL = 4096
"""Words of tiles, or elements of accumulators, of which four blocks fit on a processor."""

SHARED = 226 << 10
"""Bytes of shared memory for the stages and the result of such a kernel: Hopper has 1 KiB more, for barriers."""
FEWEST, DEEPEST = 3, 12
"""Its stages: with two, the copies do not keep up."""
PROCESSORS = 132
"""Those of an H100 or H200; so many programs take turns at the tile blocks of a launch."""

Option = int | bool | str


@dataclass(frozen=True, slots=True)
class Variant:
    """A compiler with options.

    >>> Variant.of("triton", num_warps=8, num_stages=3, views="host").label
    'triton w8 s3 host'
    >>> Variant.of("tileiras", occupancy=2, allow_tma=False).label
    'tileiras occ2 no-tma'
    """

    engine: str
    options: tuple[tuple[str, Option], ...] = ()

    @staticmethod
    def of(engine: str, **options: Option) -> Variant:
        """Return a variant; options are checked when it is compiled."""
        return Variant(engine, tuple(options.items()))

    @property
    def label(self) -> str:
        """A short name for tables."""
        words = [self.engine]
        for name, value in self.options:
            if value == 0 and name in ("unroll", "pipeline", "programs"):
                continue
            if name in SHORT:
                words.append(f"{SHORT[name]}{value}")
            elif isinstance(value, bool):
                words.append(("" if value else "no-") + name.removeprefix("allow_"))
            else:
                words.append(str(value))
        return " ".join(words)

    def as_dict(self) -> dict[str, Any]:
        """Return the variant as JSON can hold it."""
        return {"engine": self.engine, "options": dict(self.options)}

    @staticmethod
    def from_dict(plain: Any) -> Variant:
        """Return the variant that `as_dict` wrote; raise TileError for anything else."""
        if not isinstance(plain, dict) or plain.get("engine") not in COMPILERS or plain.keys() != {"engine", "options"}:
            raise TileError(f"expected a variant with an engine ({' or '.join(COMPILERS)}) and options")
        engine, options = plain["engine"], plain["options"]
        if not isinstance(options, dict) or not all(isinstance(v, (int, str)) for v in options.values()):
            raise TileError("the options of a variant must be numbers and words")
        refuse_options(engine, options, OPTIONS[engine])
        return Variant(engine, tuple(options.items()))


@dataclass(frozen=True)
class VariantCompiler:
    """Compiles the entries of a module as a variant says."""

    engine = "gpu"

    variant: Variant
    compiler: CompileProcess | None = None

    def compile(self, module: Module, entry: Entry, target: str) -> Binary:
        """Compile an entry for an architecture such as sm_90."""
        options: dict[str, Any] = dict(self.variant.options)
        refuse_options(self.variant.engine, options, OPTIONS[self.variant.engine])
        if options.pop(SPLIT, False):
            halves = split_rows(module, entry.sym_name)
            if halves is None:
                raise TileError(
                    f"@{entry.sym_name} has no rows that two tile blocks could share", kind=ErrorKind.UNSUPPORTED
                )
            image, contract = self._compile(halves, find_entry(halves, entry.sym_name), target, options)
            return Binary(image, replace(contract, spread=2))
        if not options.pop(TRANSPOSE, False):
            return self._compile(module, entry, target, options)
        found = transpose_ahead(module, entry.sym_name)
        if found is None:
            raise TileError(
                f"@{entry.sym_name} has no operand that could be transposed ahead", kind=ErrorKind.UNSUPPORTED
            )
        changed, matrix = found
        made = self._compile(changed, find_entry(changed, entry.sym_name), target, options)
        copying = transposing_kernel(matrix)
        image, contract = self._compile(copying, copying.entries[0], target, {})
        ahead = Ahead(
            *(matrix.source, matrix.rows, matrix.columns, matrix.stride, matrix.item, matrix.side, image, contract)
        )
        return Binary(made.image, replace(made.contract, ahead=(ahead,)))

    def _compile(self, module: Module, entry: Entry, target: str, options: dict[str, Any]) -> Binary:
        if self.variant.engine == "tileiras":
            return tileiras.compiler_for(options).compile(module, entry, target)
        config = triton.configured(entry, target, options)
        made = compile_entry(module, entry.sym_name, target=target, config=config, compiler=self.compiler)
        return Binary(made.binary, made.contract)

    def initial(self, o: Global) -> bytes | None:
        """Return the bytes that a global starts with, or None if the machine code holds it."""
        return None if self.variant.engine == "tileiras" else global_bytes(o)


def default_variant(work: Work, available: tuple[str, ...] = COMPILERS) -> Variant:
    """Choose a variant by rules. `available` are the compilers that are installed."""
    available = _trusted(work, available)
    if "triton" in available and work.narrow and (fed := _fed(work)):
        return fed[0]
    if "tileiras" in available and (chosen := _for_tileiras(work)) is not None:
        return chosen
    if "triton" in available:
        return _for_triton(work)
    if "tileiras" in available:
        return Variant.of("tileiras", level=3, **_hints(work))
    raise TileError(
        "engine 'gpu' needs a compiler for GPUs",
        kind=ErrorKind.MISSING_TOOL,
        notes=("install one: pip install 'tilery[gpu]' or 'tilery[nvidia]'",),
    )


def candidate_variants(work: Work, available: tuple[str, ...] = COMPILERS) -> list[Variant]:
    """Return three or four variants that may be faster than the default, for a first launch that times them."""
    plain = [Variant.of("tileiras", level=3, occupancy=n) for n in (8, 4, 2)]
    if work.products:
        found = [*_fed(work), Variant("triton"), plain[2], Variant.of("tileiras", level=3)]
        if work.transposable:  # three with the operand as it is, and one without
            found = [*found[:-1], _transposed(plain[2])]
    else:
        other = (
            Variant.of("triton", unroll=4, pipeline=0) if work.stores else Variant.of("triton", unroll=0, pipeline=3)
        )
        found = [other if work.loops else Variant("triton"), plain[0], plain[1]]
    return [variant for variant in found if variant.engine in _trusted(work, available)]


def _fed(work: Work) -> list[Variant]:
    """The variant in which one warp copies for two groups that multiply: other GPUs than Hopper refuse it."""
    large = work.accumulator >= 128 * 128 and work.rows >= 128 and work.loop_bytes > 0
    stages = min(DEEPEST, (SHARED - work.stored) // max(work.loop_bytes, 1))
    if not (work.feedable and work.pure and large and stages >= FEWEST) or work.waits:
        return []
    found = Variant.of("triton", num_warps=4, num_stages=stages, gluon=2, programs=PROCESSORS)
    if not work.needs_transpose:
        return [found]
    return [_transposed(found)] if work.transposable else []


def _transposed(variant: Variant) -> Variant:
    return replace(variant, options=(*variant.options, (TRANSPOSE, True)))


def _trusted(work: Work, available: tuple[str, ...]) -> tuple[str, ...]:
    """Leave tileiras out for a kernel that it may compile wrongly, if there is another compiler."""
    others = tuple(name for name in available if name != "tileiras")
    return others if work.distrusts_tileiras and others else available


def _for_triton(work: Work) -> Variant:
    """Triton's own rules; they do not know how many tile blocks a launch has."""
    if work.loops and not work.products and 0 < work.blocks <= TWO_EACH:
        return Variant.of("triton", unroll=0, pipeline=3)
    return Variant("triton")


def _for_tileiras(work: Work) -> Variant | None:
    """The variant of tileiras for kernels that Triton compiles badly, see docs/guides/tune.md."""
    few = 0 < work.blocks <= ONE_EACH
    if not work.products:
        if work.several:
            return Variant.of("tileiras", level=3, occupancy=4, allow_tma=False)
        return Variant.of("tileiras", level=3, occupancy=2) if few and work.stores and work.live <= HELD else None
    if work.stepwise:
        hints: dict[str, Option] = {"occupancy": 4 if work.live <= SMALL else 2}
        return Variant.of("tileiras", level=3, **hints, **({"allow_tma": False} if work.rows >= 8 else {}))
    if not work.loop_bytes:
        return Variant.of("tileiras", level=2) if work.needs_transpose or work.tf32 else None
    plain = Variant.of("tileiras", level=3) if few else Variant.of("tileiras", level=3, occupancy=2)
    if work.chained:
        if work.tf32 or (work.reduces and SMALL < work.accumulator <= 64 * 128 and work.loop_bytes <= 16 << 10):
            return None
        large = work.accumulator >= 2 * 128 * 128
        return Variant.of("tileiras", level=3, num_cta_in_cga=2, occupancy=2) if large else plain
    if work.tf32:
        if work.transposable and work.rows >= 128:
            return _transposed(Variant.of("tileiras", level=2, occupancy=2))
        return Variant.of("tileiras", level=2)
    if work.narrow:
        if work.accumulator > 128 * 128 or not work.pure:
            return None
        paired = Variant.of("tileiras", level=3, num_cta_in_cga=2, occupancy=2)
        return Variant.of("tileiras", level=2) if work.needs_transpose else paired
    if work.integers:
        return Variant.of("tileiras", level=3, occupancy=2)
    return None if work.pure else plain


def _hints(work: Work) -> dict[str, int]:
    """The hints for kernels that tileiras compiles badly without."""
    if work.products and work.accumulator > 128 * 128:
        return {"num_cta_in_cga": 2}
    return {} if work.products else {"occupancy": 4}


def installed() -> tuple[str, ...]:
    """Return the compilers that are installed."""
    from ..registry import ENGINES
    from ..tileiras.compiler import find_tool

    found = [name for name in COMPILERS if name == "triton" and ENGINES[name].installed]
    try:
        find_tool()
        found.append("tileiras")
    except TileError:
        pass
    return tuple(found)
