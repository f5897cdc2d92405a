"""Compare Triton on a GPU with the same kernels as Tile IR on two engines, in docs/reports/lab/triton_gpu.md.

    python scripts/triton_gpu.py compare [--only NAME] [--jobs 4]  # with a GPU: writes the page and the numbers
    python scripts/triton_gpu.py again         # without one: whether the reference engine still has the same results
    python scripts/triton_gpu.py programs RESULTS  # add what scripts/triton_suites/gpu_programs.py found
    python scripts/triton_gpu.py page          # the page, from docs/reports/lab/triton_gpu.json

`compare` needs Triton 3.3 to 3.9 and a CUDA build of torch. Triton runs in some processes, and the reference engine and
engine `gpu` in others. All make the same inputs from the same seed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DATA = HERE.parent / "docs" / "reports" / "lab" / "triton_gpu.json"
sys.path[:0] = [str(HERE.parent / "src"), str(HERE)]

import checkout  # noqa: E402

FLOATS = ("float32", "float16", "bfloat16", "float64")
SIZES = (64, 1000)
APPROXIMATE = {
    "exp": 4,
    "exp2": 4,
    "log": 4,
    "log2": 4,
    "sin": 4,
    "cos": 4,
    "sqrt": 2,
    "rsqrt": 2,
    "erf": 3,
    "sigmoid": 8,
    "div": 3,
    "tan": 8,
    "pow": 12,
    "normcdf": 8,
    "erfcx": 6,
    "erfc": 6,
    "acosh": 6,
    "atanh": 6,
    "fmod": 0,
}
"""Units in the last place by which results may differ, where they may; other functions of libdevice: 4."""

Case = tuple[str, str, dict[str, Any]]
"""A name, the kernel, and what `launch` needs."""
Row = dict[str, Any]
"""A case's name and outcome; where results differ, the element that differs most and its values."""


def cases() -> Iterator[Case]:
    yield from elementwise_cases()
    yield from conversion_cases()
    yield from tile_cases()
    for m, n, k in ((16, 16, 16), (32, 64, 32), (64, 32, 64)):
        for dtype, precision in (
            *(("float16", "ieee"), ("bfloat16", "ieee"), ("float32", "ieee"), ("float32", "tf32"), ("int8", "ieee")),
            *(("float32", "tf32x3"), ("float8_e5m2", "ieee"), ("float8_e4m3fn", "ieee")),
        ):
            if k >= 32 or dtype not in ("int8", "float8_e5m2", "float8_e4m3fn"):
                yield f"dot {dtype} {precision} {m}x{n}x{k}", "dot", {"dtype": dtype, "mnk": (m, n, k), "op": precision}


def elementwise_cases() -> Iterator[Case]:
    for op in (
        "exp",
        "exp2",
        "log",
        "log2",
        "sin",
        "cos",
        "sqrt",
        "rsqrt",
        "floor",
        "ceil",
        "erf",
        "sqrt_rn",
        "sigmoid",
    ):
        for dtype in ("float32", "float64") if op not in ("sqrt_rn", "sigmoid", "erf") else ("float32",):
            for n in SIZES:
                yield f"{op} {dtype} {n}", "unary", {"op": op, "dtype": dtype, "n": n}
    for op in ("abs", "neg"):
        for dtype in (*FLOATS, "int32", "int64"):
            yield f"{op} {dtype}", "unary", {"op": op, "dtype": dtype, "n": 1000}
    for op in (
        *("log1p", "expm1", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "tan"),
        *("log10", "exp10", "cbrt", "rcbrt", "erf", "erfc", "erfcx", "normcdf", "sinpi", "cospi", "pow", "fmod"),
        *("hypot", "copysign", "rint", "round", "trunc", "nextafter", "fdim", "add_rz", "mul_ru", "div_rd", "fma_rz"),
        "saturatef",
    ):
        yield f"libdevice {op}", "extern", {"op": op, "dtype": "float32", "n": 1000}
    for op in ("popc", "clz", "ffs", "brev", "mulhi", "hadd", "mul24"):
        yield f"libdevice {op}", "extern_int", {"op": op, "dtype": "int32", "n": 1000}
    for op in ("add", "sub", "mul", "max", "min", "lt", "min_nan", "div", "fma"):
        for dtype in ("float32", "float64", "float16") if op not in ("div", "fma") else ("float32", "float64"):
            yield f"{op} {dtype}", "binary", {"op": op, "dtype": dtype, "n": 1000}
    yield "div_rn float32", "binary", {"op": "div_rn", "dtype": "float32", "n": 1000}
    for op in ("add", "sub", "mul", "floordiv", "mod", "and", "or", "xor", "shl", "shr", "max", "min", "lt"):
        for dtype in ("int8", "int16", "int32", "int64"):
            yield f"{op} {dtype}", "binary", {"op": op, "dtype": dtype, "n": 1000}
    yield "umulhi", "binary", {"op": "umulhi", "dtype": "int32", "n": 1000}
    for op in ("rand", "randn", "randint"):
        for n in SIZES:
            yield f"{op} {n}", "random", {"op": op, "n": n}
    for op in ("tanh", "rcp", "prmt", "rna", "lop3"):
        yield f"ptx {op}", "ptx", {"op": op, "dtype": "float32", "n": 1000}


def conversion_cases() -> Iterator[Case]:
    kinds = (*FLOATS, "float8_e5m2", "float8_e4m3fn", "int8", "int16", "int32", "int64")
    for source in kinds:
        for target in kinds:
            narrow = [kind for kind in (source, target) if kind.startswith("float8")]
            wide = {"float64", "int8", "int16", "int32", "int64"} & {source, target}
            if source != target and not (narrow and wide) and len(narrow) < 2:
                yield f"{source} to {target}", "cast", {"dtype": source, "to": target, "n": 1000}


def tile_cases() -> Iterator[Case]:
    for op in ("sum", "max", "min", "argmax"):
        for dtype in ("float32", "float16", "int32"):
            for shape in ((8, 16), (32, 64), (1, 512)):
                for axis in (0, 1):
                    yield (
                        f"{op} {dtype} {shape} {axis}",
                        "reduce",
                        {"op": op, "dtype": dtype, "shape": shape, "axis": axis},
                    )
    for shape in ((8, 16), (32, 64)):
        yield f"xor {shape}", "reduce", {"op": "xor", "dtype": "int32", "shape": shape, "axis": 1}
    for op in ("cumsum", "cumsum_reverse", "cumprod", "recurrence"):
        for shape in ((4, 32), (16, 128)):
            for axis in (0, 1):
                yield f"{op} {shape} {axis}", "scan", {"op": op, "dtype": "float32", "shape": shape, "axis": axis}
    for op in ("sort", "sort_descending", "flip", "permute", "trans", "split", "gather", "join"):
        for dtype in ("float32", "int32", "float16"):
            yield f"{op} {dtype}", "shapes", {"op": op, "dtype": dtype, "n": 64}
    for bins in (16, 64):
        yield f"histogram {bins}", "histogram", {"n": 256, "bins": bins}
    for op in ("add", "max", "min", "and", "or", "xor"):
        for dtype in ("int32", "int64"):
            yield f"atomic {op} {dtype}", "atomic", {"op": op, "dtype": dtype}
    for op in ("add", "max", "min"):
        yield f"atomic {op} float32", "atomic", {"op": op, "dtype": "float32"}


# ---------------------------------------------------------------- one launch


def random_input(torch: Any, name: str, which: int, size: int, dtype: str) -> Any:
    """Return numbers that depend on the case alone; floats are in [-8, 8] with a few special ones."""
    import numpy as np

    rng = np.random.default_rng(zlib.crc32(f"{name}/{which}".encode()))
    kind = getattr(torch, dtype)
    if kind.is_floating_point:
        values = rng.normal(size=size) * 2
        values[: min(size, 6)] = [0.0, -0.0, 1.0, -1.0, 0.5, 7.5][: min(size, 6)]
        return torch.tensor(values.clip(-8, 8), dtype=torch.float64).to(kind).cuda()
    whole = rng.integers(-100, 100, size)
    whole[whole == 0] = 3
    return torch.tensor(whole).to(kind).cuda()


def launch(name: str, kernel: str, how: dict[str, Any]) -> Any:
    """Run a case and return its outputs as f64 or integers, on the host."""
    import torch

    from triton_suites import gpu_kernels

    function = getattr(gpu_kernels, kernel)
    op, n = how.get("op"), how.get("n", 0)
    dtype = how.get("dtype", "float32")

    def new(size: int, kind: str = dtype) -> Any:
        return torch.zeros(size, dtype=getattr(torch, kind), device="cuda")

    def given(which: int, size: int, kind: str = dtype) -> Any:
        return random_input(torch, name, which, size, kind)

    grid = (-(-n // 256),)
    match kernel:
        case "unary" | "ptx" | "extern_int":
            out = new(n)
            function[grid](given(0, n), out, n, op, 256)
        case "extern" | "binary":
            out = new(n)
            function[grid](given(0, n), given(1, n), out, n, op, 256)
        case "cast":
            out = new(n, how["to"])
            function[grid](given(0, n), out, n, 256)
        case "reduce":
            rows, columns = how["shape"]
            out, index = new(512), new(512, "int32")
            function[(1,)](given(0, rows * columns), out, index, rows, columns, how["axis"], op)
            out = index if op == "argmax" else out
        case "scan":
            rows, columns = how["shape"]
            out = new(rows * columns)
            function[(1,)](given(0, rows * columns), out, rows, columns, how["axis"], op)
        case "shapes":
            out = new(2 * n)
            function[(1,)](given(0, n), out, n, op)
        case "histogram":
            out = new(how["bins"], "int32")
            function[(1,)](given(0, n, "int32").abs() % how["bins"], out, n, how["bins"])
        case "dot":
            m, columns, k = how["mnk"]
            out = new(m * columns, "int32" if dtype == "int8" else "float32")
            function[(1,)](given(0, m * k), given(1, k * columns), out, m, columns, k, op)
        case "atomic":
            out = new(8)
            function[(4,)](given(0, 256), out, 64, op)
        case "random":
            out = new(n, "int32" if op == "randint" else "float32")
            function[grid](out, n, 42, op, 256)
    torch.cuda.synchronize()
    return (out.double() if out.dtype.is_floating_point else out.long()).cpu().numpy()


TRITON, ENGINES = "triton", ("reference", "gpu")
"""Ways to run a case: Triton itself, and the engines that execute its Tile IR."""


def run_all(args: argparse.Namespace) -> None:
    """Run a share of the cases one way and save their outputs; an error is saved as text."""
    import numpy as np

    outputs: dict[str, Any] = {}
    end = time.monotonic() + args.seconds

    def every() -> None:
        for name, kernel, options in list(cases())[args.share :: args.jobs]:
            if args.only in name and time.monotonic() < end:
                try:
                    outputs[name] = launch(name, kernel, options)
                except Exception as error:  # whatever Triton raises is a result
                    outputs[name] = np.array(f"{type(error).__name__}: {first_line(error)}")

    def save(way: str) -> None:
        np.savez(args.folder / f"{way}.{args.share}.npz", **outputs)
        outputs.clear()

    if args.how == TRITON:
        every()
        save(TRITON)
        return
    import tilery.triton

    for engine in args.how.split(","):
        with tilery.triton.on(engine):
            every()
        save(engine)


def first_line(error: Exception) -> str:
    """Return the line of an error that says most: the first of tilery's, the last of Triton's."""
    lines = str(error).strip().splitlines() or [""]
    return (lines[0] if type(error).__name__ == "TileError" else lines[-1])[:200]


# ---------------------------------------------------------------- comparison


def limit(kernel: str, how: dict[str, Any]) -> tuple[float, float]:
    """Return what may differ: units in the last place of each result, and a part of the largest result."""
    op, dtype = how.get("op", ""), how.get("dtype", "float32")
    if kernel == "extern" and op in ("copysign", "rint", "round", "trunc", "nextafter", "fdim", "saturatef"):
        return 0, 0
    if kernel == "extern" and op.endswith(("_rz", "_ru", "_rd")):
        return 0, 0
    if kernel == "extern":
        return APPROXIMATE.get(op, 4), 0
    if kernel == "ptx":
        return (2**13, 0) if op == "tanh" else (2, 0) if op == "rcp" else (0, 0)
    if kernel == "random":
        return (8, 1e-6) if op == "randn" else (0, 0)
    if kernel == "unary":
        return (0 if op == "sqrt_rn" else APPROXIMATE.get(op, 0)), 0
    if kernel == "binary":
        return (APPROXIMATE["div"] if op == "div" else 0), 0
    if kernel in ("reduce", "scan", "atomic") and dtype.startswith("float") and op in ("sum", "add", *SCANS):
        return 0, 2e-3 if dtype == "float16" else 1e-6
    if kernel == "dot" and dtype != "int8":
        return 0, 1e-6
    return 0, 0


SCANS = ("cumsum", "cumsum_reverse", "cumprod", "recurrence")


def compare(gpu: Any, engine: Any, kernel: str, how: dict[str, Any]) -> Row:
    """Return how two outputs compare, and the largest difference."""
    import numpy as np

    if gpu.dtype.kind == "U":
        return {"outcome": "not run on the GPU", "reason": str(gpu)}
    if engine.dtype.kind == "U":
        return {"outcome": "refused", "reason": str(engine)}
    same = (gpu == engine) | ((gpu != gpu) & (engine != engine))
    if same.all():
        return {"outcome": "equal"}
    units, part = limit(kernel, how)
    digits = {"float16": 11, "bfloat16": 8, "float64": 53}.get(how.get("to") or how.get("dtype", "float32"), 24)
    spacing = np.exp2(np.floor(np.log2(np.maximum(np.abs(gpu.astype(float)), 2.0**-126))) - digits + 1)
    finite = gpu[np.isfinite(gpu.astype(float))]
    largest = float(np.abs(finite).max()) if finite.size else 0.0
    with np.errstate(all="ignore"):
        off = np.abs(gpu.astype(float) - engine.astype(float))
    allowed = np.maximum(units * spacing, part * largest)
    at = int(np.argmax(np.where(same, 0, off / np.maximum(spacing, 1e-300))))
    return {
        "outcome": "within the error" if (same | (off <= allowed)).all() else "different",
        "element": at,
        "gpu": gpu.flat[at].item(),
        "here": engine.flat[at].item(),
        "ulp": round(float(off.flat[at] / spacing.flat[at]), 1),
    }


def shown(row: Row) -> str:
    """Return a row of the table of an outcome other than equal."""
    if "reason" in row:
        return f"| {row['name']} | {row['reason'].replace('|', '/')} | | | |"
    return f"| {row['name']} | {row['element']} | {row['gpu']!r} | {row['here']!r} | {row['ulp']} |"


OUTCOMES = ("equal", "within the error", "different", "refused", "not run on the GPU")


def counted(label: str, rows: list[Row]) -> str:
    """Return a row of the first table: how many cases have which outcome."""
    counts = Counter(row["outcome"] for row in rows)
    return f"| {label} | {len(rows)} | " + " | ".join(str(counts[each]) for each in OUTCOMES) + " |"


def page(data: dict[str, Any]) -> str:
    facts, programs = data["facts"], data.get("programs", [])
    launches = {engine: [r for p in programs for r in p["rows"] if r["engine"] == engine] for engine in ENGINES}
    lines = [
        "# Triton on a GPU and as Tile IR",
        "",
        f"`scripts/triton_gpu.py` wrote this page, on {facts['gpu']} with Triton {facts['triton']} and torch",
        f"{facts['torch']}. Each kernel runs with Triton itself, and translated to Tile IR on the reference engine",
        "and on engine `gpu`, on the same inputs. Cases are kernels that were written for this comparison, one per",
        "family of operations. Launches are those of the programs of TritonBench-G, by",
        "`scripts/triton_suites/gpu_programs.py`: it copies the memory before and after a launch on the GPU, and",
        "compares the results of the engines, which begin with the same memory.",
        "",
        "| engine | cases | " + " | ".join(OUTCOMES) + " |",
        "|---|--:|" + "--:|" * len(OUTCOMES),
        *(counted(f"{engine}, cases", data["rows"][engine]) for engine in ENGINES if data["rows"].get(engine)),
        *(counted(f"{engine}, launches", launches[engine]) for engine in ENGINES if launches[engine]),
        "",
        "Integers, shapes, conversions and functions with a rounding mode must be equal. Other functions may differ by",
        "a few units in the last place (`APPROXIMATE` in the script), sums and products by 1e-6 of the largest result,",
        "since their order differs. The floats of a launch may differ by a part of the largest result, which depends",
        "on their type (`PARTS` in `gpu_programs.py`).",
    ]
    for engine in ENGINES:
        for outcome in OUTCOMES[1:]:
            found = [row for row in data["rows"].get(engine, []) if row["outcome"] == outcome]
            if found:
                lines += ["", f"## {outcome.capitalize()}: cases on {engine}", "", *EXPLAINED[engine].get(outcome, [])]
                lines += [
                    "",
                    "| case | element | on the GPU | here | ULP |",
                    "|---|--:|---|---|--:|",
                    *map(shown, found),
                ]
    lines += about_programs(programs, launches)
    lines += ["", "## Not measured", "", *not_measured(data, launches)]
    return "\n".join(lines) + "\n"


def about_programs(programs: list[Row], launches: dict[str, list[Row]]) -> list[str]:
    """Return the part of the page about launches of programs."""
    lines: list[str] = []
    for engine in ENGINES:
        for outcome in OUTCOMES[1:4]:
            found = [row for row in launches[engine] if row["outcome"] == outcome]
            if not found:
                continue
            lines += ["", f"## {outcome.capitalize()}: launches on {engine}", ""]
            if outcome == "refused":
                lines += ["| program | kernel | reason |", "|---|---|---|"]
                lines += [f"| {r['program']} | {r['kernel']} | {r['reason'].replace('|', '/')} |" for r in found]
                continue
            lines += [
                "| program | kernel | array | elements | of largest | on the GPU | here |",
                "|---|---|---|--:|--:|--:|--:|",
            ]
            for r in found:
                count = f"{r['elements']:,} of {r['size']:,}"
                lines.append(
                    f"| {r['program']} | {r['kernel']} | {r['array']}, {r['type'].removeprefix('torch.')} | {count} | "
                    f"{r['part']:.1e} | {r['gpu']:.7g} | {r['here']:.7g} |"
                )
    different = {row["program"] for rows in launches.values() for row in rows if row["outcome"] == "different"}
    if different:
        lines += ["", "## Why launches differ", ""]
        lines += [
            checkout.fill(f"* `{name}`: {EXPLAINED_PROGRAMS.get(name, 'not explained.')}") for name in sorted(different)
        ]
    failed = [p for p in programs if not p["rows"] and p["gpu"] != "no time"]
    if failed:
        lines += ["", "## Programs without a launch to compare", "", "| program | on the GPU | here |", "|---|---|---|"]
        lines += [f"| {p['program']} | {p['gpu']} | {p.get('here', '')} |".replace("SystemExit: ", "") for p in failed]
    return lines


def not_measured(data: dict[str, Any], launches: dict[str, list[Row]]) -> list[str]:
    lines = [
        "Races, memory errors and times. Only the element that differs most is kept of each case. `again` runs the",
        f"reference engine without a GPU and compares it with that element: {data['facts']['again']}.",
    ]
    late = sum(p["gpu"] == "no time" for p in data.get("programs", []))
    ran = sum(bool(p["rows"]) for p in data.get("programs", []))
    if late:
        lines.append(f"Launches are those of {ran} programs; for {late} others there was no time on the GPU.")
    return lines


EXPLAINED_PROGRAMS = {
    "chunk_retention.py": "the kernel uses the counter of a loop after the loop, which Triton makes an undefined value "
    "(`ub.poison`), so the place that it stores to is undefined.",
    "quantize_kv_transform.py": "a quotient is rounded to an integer. Triton divides with an error of 2 ULP on a GPU, "
    "and a quotient next to the limit between two integers falls on the other side.",
    "int8_matmul_quantization.py": "a quotient is converted to an integer, as in `quantize_kv_transform.py`.",
    "fp4_to_bf16.py": "the exponent 3 - 1 + 127 of an 8-bit integer without a sign is 129, so 6.0 is right. Triton's "
    "code for the GPU returns 6 * 2**-126 for it.",
}
"""Why the results of a program differ."""
EXPLAINED = {
    "reference": {
        "different": [
            """\
The GPU computes `exp` of f32 as `ex2.approx` of a rounded product. CUDA documents an error of 2 + 1.173 |x| ULP for
that; the script allows 4. The arguments of `asin`, `acos` and `atanh` are results of `sin` and `tanh`, which differ by
one ULP; near 1 these functions multiply that. A product of fp8 with 64 rows is computed by a warp group, which adds
with about 14 bits, so a sum that nearly cancels has few correct ones. The reference engine adds in f32."""
        ],
        "refused": ["The translation does not have these."],
        "not run on the GPU": ["Triton itself refuses these on this GPU."],
        "within the error": ["The element of each case that differs most."],
    },
    "gpu": {
        "different": ["Triton computes `exp` as above; the engine's compiler uses a more accurate function."],
        "within the error": ["The element of each case that differs most."],
    },
}


def outputs_of(folder: Path, way: str) -> dict[str, Any]:
    """Return the outputs that the processes of one way have saved."""
    import numpy as np

    found: dict[str, Any] = {}
    for path in folder.glob(f"{way}.*.npz"):
        found |= dict(np.load(path).items())
    return found


def differences(folder: Path) -> dict[str, list[Row]]:
    """Compare the outputs of each engine with those of Triton."""
    theirs = outputs_of(folder, TRITON)
    rows: dict[str, list[Row]] = {}
    for engine in ENGINES:
        ours = outputs_of(folder, engine)
        rows[engine] = [
            {"name": name, **compare(theirs[name], ours[name], kernel, how)}
            for name, kernel, how in cases()
            if name in theirs and name in ours
        ]
    return rows


def same_as_before(folder: Path, rows: list[Row]) -> tuple[int, int, list[str]]:
    """Return how many elements of the reference engine are kept, how many are the same again, and the other cases."""
    ours = outputs_of(folder, "reference")
    kept = [row for row in rows if "element" in row and row["name"] in ours]
    changed = [row["name"] for row in kept if ours[row["name"]].flat[row["element"]].item() != row["here"]]
    return len(kept), len(kept) - len(changed), changed


def run_children(ways: list[str], folder: str, args: argparse.Namespace) -> None:
    """Run all cases in some processes for each way; say if one fails."""
    children = []
    for how in ways:
        for share in range(args.jobs):
            env = dict(os.environ, TRITON_CACHE_DIR=f"{folder}/{how}_cache_{share}")
            line = [sys.executable, __file__, "way", "--how", how, "--folder", folder, "--only", args.only]
            line += ["--share", str(share), "--jobs", str(args.jobs), "--seconds", str(args.seconds)]
            children.append(subprocess.Popen(line, env=env))
    if failed := [child.args for child in children if child.wait()]:
        print("failed:", *failed, flush=True)


def measure(data: dict[str, Any], args: argparse.Namespace) -> dict[str, Any]:
    """Run all cases; return the data of the page."""
    import triton

    with tempfile.TemporaryDirectory() as folder:
        run_children(["reference"] if args.verb == "again" else [TRITON, ",".join(ENGINES)], folder, args)
        if args.verb == "compare":
            import torch

            facts = {"gpu": torch.cuda.get_device_name(0), "triton": triton.__version__, "torch": torch.__version__}
            data = {**data, "facts": facts, "rows": differences(Path(folder))}
        kept, same, changed = same_as_before(Path(folder), data["rows"]["reference"])
    data["facts"]["again"] = f"{same} of {kept} are the same with Triton {triton.__version__}"
    print(data["facts"]["again"], *changed, flush=True)
    return data


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=["compare", "again", "page", "programs", "way"])
    parser.add_argument("results", type=Path, nargs="?", help="of `programs`")
    parser.add_argument("--only", default="")
    parser.add_argument("--jobs", type=int, default=1, help="processes for each way to run the cases")
    parser.add_argument("--seconds", type=float, default=3600.0, help="start no further case after this time")
    parser.add_argument("--data", type=Path, default=DATA, help="the numbers of the page")
    parser.add_argument("--how", help="of `way`, one process of a comparison: Triton, or the engines")
    parser.add_argument("--folder", type=Path, help="of `way`: where outputs are saved")
    parser.add_argument("--share", type=int, default=0, help="of `way`: which of `--jobs` parts of the cases")
    args = parser.parse_args()
    if args.verb == "way":
        run_all(args)
        return 0
    data = json.loads(args.data.read_text("utf-8")) if args.data.exists() else {}
    if args.verb == "programs":
        data["programs"] = json.loads(args.results.read_text("utf-8"))
    elif args.verb != "page":
        data = measure(data, args)
    if args.verb != "page":
        args.data.write_text(json.dumps(data, indent=1) + "\n", "utf-8")
    args.data.with_suffix(".md").write_text(page(data), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
