"""`tilery run`: launch a kernel on arguments made from the command line, print and save what it leaves in them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .cli_files import Stop, read_input, write_output
from .diag import TileError

if TYPE_CHECKING:
    from .cli_options import Verbs

EXAMPLES = [
    "run add.mlir --grid 4 --arg a=rand:f32:4096 --arg b=@b.npy --arg out=zeros:f32:4096 --print out",
    "run k.tileirbc --entry k --grid 4,2 --arg x=randn:bf16:64x64 --arg n=i32:64 --save x=x.npy --stats",
    "run --recorded launch.zip --stats",
]
SPEC = """\
An argument is NAME=SPEC or SPEC; names only label arguments, which are positional. SPEC is
  @FILE.npy          an array from a file
  KIND:TYPE:SHAPE    a new array: KIND is zeros, ones, arange, rand (0 to 1; integers: any bits) or randn,
                     TYPE an element type such as f32, bf16 or i8, SHAPE such as 1024 or 64x64
  TYPE:VALUE         a scalar, such as i32:1024 or f32:0.5
Two elements of four bits are in a byte, in files and in arrays that are saved, too. With --convention cutile an array
stands for its pointer, shape and strides, as cuTile passes it.
"""
KINDS = ("zeros", "ones", "arange", "rand", "randn")


@dataclass
class Argument:
    """An argument and its label; `element` is its type, where the command line or the kernel names it."""

    name: str
    value: Any
    element: Any = None


def add_verbs(verbs: Verbs) -> None:
    sub = verbs.add("run", run, EXAMPLES, json_result=True)
    sub.epilog = SPEC + "\n" + (sub.epilog or "")
    sub.add_argument("file", metavar="FILE", nargs="?", help="bytecode or text")
    sub.add_argument("--entry", metavar="NAME", help="the kernel; default: the only one")
    sub.add_argument("--grid", metavar="X[,Y[,Z]]", help="how many tile blocks; default: 1")
    sub.add_argument("--arg", action="append", default=[], metavar="[NAME=]SPEC", help="an argument, see below")
    sub.add_argument("--convention", choices=["cutile"], help="how arrays are passed; default: as their pointers")
    sub.add_argument("--recorded", metavar="FILE", help="a launch that was recorded, instead of FILE and arguments")
    sub.add_argument("--print", action="append", default=[], metavar="NAME", help="print an argument afterwards")
    sub.add_argument("--save", action="append", default=[], metavar="NAME=FILE", help="save an argument afterwards")
    seed, count = at_least(int, 0), at_least(int, 1)
    sub.add_argument("--seed", type=seed, default=0, metavar="N", help="for rand and randn; default: 0")
    sub.add_argument("--stats", action="store_true", help="print what was executed, to stderr")
    sub.add_argument("--threads", type=count, default=1, metavar="N", help="default: 1")
    sub.add_argument("--batch", type=count, metavar="N", help="tile blocks that run at once; default: by their size")
    sub.add_argument("--max-steps", type=count, metavar="N", help="stop after so many operations on batches")
    sub.add_argument("--max-seconds", type=at_least(float, 0), metavar="S", help="stop after so many seconds")
    sub.add_argument("--max-memory", type=count, default=8 << 30, metavar="BYTES", help="held at once")


def at_least(kind: type[int] | type[float], least: int) -> Callable[[str], int | float]:
    """The type of an option that is a number."""

    def number(text: str) -> int | float:
        value = kind(text)
        if not value >= least:
            raise argparse.ArgumentTypeError(f"expected at least {least}, got '{text}'")
        return value

    number.__name__ = kind.__name__  # for the message about what is no number
    return number


def run(args: argparse.Namespace) -> int:
    """Run a kernel on the CPU and show what it leaves in its arguments."""
    if (args.file is None) == (args.recorded is None):
        raise Stop("run needs a FILE or --recorded")
    if args.recorded is not None:
        return replay(args)
    from .cli import as_json, module_of, place

    data = read_input(args.file)
    module = module_of(data, args.file)
    grid = parse_grid(args.grid or "1")
    arguments = make_arguments(args.arg, args.seed)
    saved = [split_save(text, arguments) for text in args.save]
    shown = [find(arguments, name, "--print") for name in args.print]
    with place(args.file), placed_in(module, data):
        facts = launch(module, grid, arguments, args)
    if args.json:
        write_output("-", as_json({**facts, "arguments": {a.name: as_data(a) for a in shown}}))
    for argument in [] if args.json else shown:
        write_output("-", f"{argument.name} = {as_text(argument)}\n")
    for argument, file in saved:
        save(argument, file)
    return 0


@contextmanager
def placed_in(module: Any, data: bytes) -> Iterator[None]:
    """Show the operation at fault in the file that it is from."""
    from .ir import Refused

    try:
        yield
    except Refused as error:
        from .check import explain
        from .verifier import Finding

        (shown,) = explain(module, [Finding(error.op, error.message, notes=tuple(error.notes[:1]))], data)
        shown.facts = error.facts
        raise shown from None


def launch(module: Any, grid: list[int], arguments: list[Argument], args: argparse.Namespace) -> dict[str, object]:
    from . import compile
    from .ir import Refused

    values = [argument.value for argument in arguments]
    names = [argument.name for argument in arguments]
    try:
        kernel = compile(module, args.entry)
        check_types(arguments, kernel.params, args.convention)
        return execute(kernel, grid, values, args, names=names, convention=args.convention)
    except Refused:
        raise
    except TileError as error:  # it names no operation: what the kernel was given is at fault
        raise Stop(error.message) from None


def execute(kernel: Any, grid: Any, values: list[Any], args: argparse.Namespace, **options: Any) -> dict[str, object]:
    """Launch with the limits and the progress bar that the command line asks for."""
    from dataclasses import asdict
    from math import prod

    from .exec.machine import Limits
    from .progress import progress

    limits = Limits(args.max_steps, args.max_seconds, args.max_memory)
    printed: list[str] = []
    if args.json:
        options["output"] = printed.append
    with progress(prod(grid), "tile blocks") as step:
        try:
            stats = kernel.launch(
                grid, values, batch=args.batch, threads=args.threads, limits=limits, progress=step, **options
            )
        except TileError as error:
            error.facts["printed"] = "".join(printed)
            raise
    facts = asdict(stats)
    if args.stats:
        width = max(map(len, facts))
        lines = [f"{name.replace('_', ' '):{width}} {value:>16,}" for name, value in facts.items()]
        sys.stderr.write("\n".join(lines) + "\n")
    return {"stats": facts, "printed": "".join(printed)}


def replay(args: argparse.Namespace) -> int:
    from .cli import as_json, place
    from .exec.record import load

    if args.arg or args.entry or args.grid or args.convention or args.print or args.save:
        raise Stop("a recorded launch has its own kernel, grid and arguments")
    with place(args.recorded):
        try:
            recorded = load(args.recorded)
        except OSError as error:
            raise Stop(f"cannot read '{args.recorded}': {(error.strerror or str(error)).lower()}") from None
        from . import compile
        from . import load as load_module

        placed = recorded.place()
        kernel = compile(load_module(recorded.bytecode), recorded.entry)
        facts = execute(kernel, recorded.grid, placed.arguments, args, buffers=placed.buffers)
    if args.json:
        write_output("-", as_json(facts))
    return 0


# ---------------------------------------------------------------- arguments


def parse_grid(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise Stop(f"--grid: expected X, X,Y or X,Y,Z, got '{text}'") from None


def make_arguments(specs: list[str], seed: int) -> list[Argument]:
    import numpy as np

    rng = np.random.default_rng(seed)
    arguments: list[Argument] = []
    for number, text in enumerate(specs):
        name, given, spec = text.partition("=")
        if not given or ":" in name or name.startswith("@"):
            name, spec = str(number), text
        if any(a.name == name for a in arguments):
            raise Stop(f"--arg: '{name}' is given twice")
        arguments.append(make_argument(name, spec, rng))
    return arguments


def make_argument(name: str, spec: str, rng: Any) -> Argument:
    if spec.startswith("@"):
        return Argument(name, read_array(spec[1:]))
    parts = spec.split(":")
    if len(parts) == 3 and parts[0] in KINDS:
        element, shape = element_type(parts[1]), shape_of(parts[2])
        try:
            return Argument(name, make_array(parts[0], element, shape, rng), element)
        except (MemoryError, ValueError):  # NumPy's limits are ValueError
            raise Stop(f"--arg: there is no room for an array such as '{spec}'") from None
    if len(parts) == 2 and parts[0] not in KINDS:
        element = element_type(parts[0])
        return Argument(name, number_of(parts[1], element), element)
    raise Stop(f"--arg: expected @FILE, KIND:TYPE:SHAPE or TYPE:VALUE, got '{spec}'")


def element_type(name: str) -> Any:
    from .types import Scalar

    try:
        return Scalar(name)
    except TileError as error:
        raise Stop(f"--arg: {error.message}") from None


def shape_of(text: str) -> tuple[int, ...]:
    try:
        shape = tuple(int(part) for part in text.split("x"))
    except ValueError:
        shape = (-1,)
    if any(extent < 0 for extent in shape):
        raise Stop(f"--arg: expected a shape such as 64x64, got '{text}'")
    return shape


def number_of(text: str, element: Any) -> int | float:
    try:
        return int(text, 0) if element.is_int else float(text)
    except ValueError:
        raise Stop(f"--arg: '{text}' is no value of {element}") from None


def read_array(file: str) -> Any:
    import numpy as np

    try:
        array = np.load(file, allow_pickle=False)
    except OSError as error:
        raise Stop(f"cannot read '{file}': {(error.strerror or str(error)).lower()}") from None
    except MemoryError:
        raise Stop(f"cannot read '{file}': it does not fit in memory") from None
    except (ValueError, EOFError):
        array = None
    if not isinstance(array, np.ndarray):  # an .npz file is several arrays
        raise Stop(f"cannot read '{file}': it is no .npy file of numbers")
    if array.dtype.kind == "V" and array.dtype.names is None and array.dtype.itemsize in (1, 2, 4, 8):
        return array.view(f"u{array.dtype.itemsize}")  # NumPy saves bf16 and narrower types as bytes without a type
    return array


def make_array(kind: str, element: Any, shape: tuple[int, ...], rng: Any) -> Any:
    """A new array as memory holds it: types that NumPy does not have as their bits."""
    from .exec.nibbles import packed

    if element.bits != 4:
        return make_elements(kind, element, shape, rng)
    if not shape or shape[-1] % 2:
        raise Stop(f"--arg: two elements of {element} are in a byte, so that the last extent must be even")
    elements = make_elements(kind, element, shape, rng)
    return packed(elements.reshape(-1)).reshape(*shape[:-1], shape[-1] // 2)


def make_elements(kind: str, element: Any, shape: tuple[int, ...], rng: Any) -> Any:
    """New elements, each by itself."""
    import numpy as np

    from .attrs import RoundingMode
    from .exec.numerics.convert import float_to_float
    from .exec.tiles import carrier
    from .types import F64

    dtype = carrier(element)
    if element.is_int and kind == "rand":
        bits = rng.integers(0, 256, (*shape, dtype.itemsize), np.uint8)
        return bits[..., 0] & 1 == 1 if element.bits == 1 else bits.view(dtype)[..., 0]
    same = kind in ("zeros", "ones")  # one element will do, and zeros take no memory until they are used
    values = float_values(kind, (1,) if same else shape, rng)
    if element.is_int:
        elements = values.astype(np.int64).astype(dtype)
    else:
        elements = float_to_float(values, F64, element, RoundingMode.NEAREST_EVEN)
    if not same:
        return elements
    return np.full(shape, elements[0]) if kind == "ones" else np.zeros(shape, dtype)


def float_values(kind: str, shape: tuple[int, ...], rng: Any) -> Any:
    import numpy as np

    match kind:
        case "rand":
            return rng.random(shape)
        case "randn":
            return rng.standard_normal(shape)
        case "arange":
            return np.arange(np.prod(shape, dtype=int), dtype=np.float64).reshape(shape)
    return np.full(shape, float(kind == "ones"))


def check_types(arguments: list[Argument], params: Sequence[Any], convention: str | None) -> None:
    """Compare the types that the command line names with the kernel's, and note the kernel's where it names none."""
    from .types import Ptr

    at = 0
    for a in arguments:
        is_array = hasattr(a.value, "ndim")
        if at >= len(params):
            return  # there are too many, which is an error of its own
        param = params[at].element
        at += 1 if convention is None or not is_array else 1 + 2 * a.value.ndim
        if isinstance(param, Ptr) != is_array:
            continue  # an address, or no argument for that parameter, which is an error of its own
        wanted = param.pointee if is_array else param
        if a.element is None:
            a.element = wanted
        elif a.element is not wanted:
            raise Stop(f"--arg: '{a.name}' is of {a.element}, the kernel takes {param}")


# ---------------------------------------------------------------- results


def find(arguments: list[Argument], name: str, option: str) -> Argument:
    found = next((a for a in arguments if a.name == name), None)
    if found is None:
        raise Stop(f"{option}: there is no argument '{name}', only {', '.join(a.name for a in arguments) or 'none'}")
    return found


def split_save(text: str, arguments: list[Argument]) -> tuple[Argument, str]:
    name, given, file = text.partition("=")
    if not given or not file:
        raise Stop(f"--save: expected NAME=FILE, got '{text}'")
    if not os.path.isdir(os.path.dirname(file) or "."):  # found out now, and not after hours
        raise Stop(f"cannot write '{file}': there is no such directory")
    return find(arguments, name, "--save"), file


def save(argument: Argument, file: str) -> None:
    import io

    import numpy as np

    data = io.BytesIO()
    np.save(data, argument.value)
    write_output(file, data.getvalue())


def numbers(argument: Argument) -> Any:
    """An argument as numbers that NumPy can show."""
    import numpy as np

    from .exec.nibbles import unpacked
    from .exec.numerics.convert import to_f64
    from .exec.tiles import carrier

    value = np.asarray(argument.value)
    element = argument.element
    if element is None or value.dtype.kind != "u" or not value.ndim:
        return value
    if element.bits == 4:
        value = unpacked(value)
    return to_f64(value.view(carrier(element)), element) if element.is_float else value


def as_text(argument: Argument) -> str:
    import numpy as np

    return np.array2string(numbers(argument), threshold=100, prefix=f"{argument.name} = ")


def as_data(argument: Argument) -> object:
    """An argument for JSON, which has no infinities and no NaN: they are strings."""
    import numpy as np

    value = numbers(argument)
    if value.dtype.kind != "f" or np.isfinite(value).all():
        return value.tolist()
    words = value.astype(object)
    for word, where in (("NaN", np.isnan(value)), ("Infinity", value == np.inf), ("-Infinity", value == -np.inf)):
        words[where] = word
    return words.tolist()
