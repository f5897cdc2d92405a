"""Run releases of tileiras and of cuTile over the same modules and programs; report what changed between them.

    python scripts/watch_release.py install FOLDER [13.4.92 ...]
    python scripts/watch_release.py tileiras FOLDER --records RECORDS [--corpus DIR] [--count 250] [--seeds 250]
    python scripts/watch_release.py again FOLDER --records RECORDS --between 13.4.59 13.4.92 [--corpus DIR] ...
    python scripts/watch_release.py cutile RELEASES --samples cutile-python/samples --records RECORDS
    python scripts/watch_release.py page --records RECORDS

`install` puts each release of tileiras, by default all that pip can find, into a folder of its own, with the ptxas and
libnvvm of that release. `tileiras` takes such a folder, or the path of one `tileiras`. RELEASES has a folder for each
release of cuTile, made by `pip install --no-deps --target RELEASES/1.7.0 cuda-tile==1.7.0`. Both keep a line per module
or program in RECORDS and continue where they were stopped. `again` compiles the modules of which two releases make
other code five times with each, to see whether that is chance. `page` writes docs/reports/lab/releases.md.

Modules are files of a corpus (without one, the legal texts of tests/cases), what cuTile made of the samples, and random
modules. Each is given to a release in its own version of bytecode, or else converted to the oldest that expresses it,
without hints.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import resource
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import checkout
import tilery
from gpu_modules import SIZES, with_plain_names
from parts.release_page import page
from support.oracle import SEED
from tilery.child import run_program
from tilery.cli.progress import progress
from tilery.diag import TileError
from tilery.engines.tileiras.compiler import architectures, encode, readable_versions, tool_version
from tilery.ops import Module
from tilery.passes.strip_debug import strip_debug_info
from tilery.rewrite import Report
from tilery.rewrite.hints import without_hints
from tilery.smith import smith_with_contract
from tilery.version import SUPPORTED

REPORT = checkout.LAB / "releases.md"
GPU = "sm_100"
"""The architecture that every release compiles for."""
SECONDS, AGAIN = 60, 5
REFUSED, FAILED = 3, 5
"""Exit codes of tileiras: it cannot read or verify the module, or a later part of it cannot compile it."""
LIBRARY = "nvvm/lib64/libnvvm.so"
"""Where tileiras 13.1 looks for libnvvm; the wheel of that release has it elsewhere."""
SAMPLES = (
    *("VectorAddition", "Transpose", "MatMul", "BatchMatMul", "LayerNorm", "AttentionFMHA", "FFT", "MoE"),
    "BlockScaledMatMul",
)
Row = dict[str, Any]


class Case(NamedTuple):
    """A module, and where it comes from."""

    group: str
    name: str
    module: Module


# ---------------------------------------------------------------- modules


def corpus(folder: Path, count: int) -> Iterator[Case]:
    """Yield a seeded sample of the files in a folder."""
    files = sorted(folder.glob("*.tileirbc"))
    for path in sorted(random.Random(SEED).sample(files, min(count, len(files)))):
        yield Case("corpus", path.stem, tilery.load(path))


def texts() -> Iterator[Case]:
    """Yield the legal modules with a kernel among the inputs of the tests."""
    for path in sorted((checkout.ROOT / "tests" / "cases").rglob("*.mlir")):
        for number, text in enumerate(re.split(r"^// -----.*$", path.read_text("utf-8"), flags=re.M)):
            try:
                module = tilery.parse(text)
                tilery.verify(module)
            except TileError:
                continue
            if module.entries:
                yield Case("tests", f"{path.parent.name}/{path.stem} {number}", module)


def random_modules(count: int) -> Iterator[Case]:
    """Yield random modules, a quarter for each version of bytecode."""
    for seed in range(count):
        size, version = SIZES[seed // 4 % len(SIZES)], SUPPORTED[seed % len(SUPPORTED)]
        module, contract = smith_with_contract(seed, version=version, size=size)
        with_plain_names(module, contract)
        module.version = version
        yield Case("random", f"seed {seed}", module)


def dumped(records: Path) -> Iterator[Case]:
    """Yield what the newest release of cuTile made of the samples."""
    found = sorted((records / "modules").glob("*"), key=lambda path: numbers(path.name))
    for path in sorted(found[-1].glob("*.tileirbc")) if found else ():
        yield Case("cuTile", path.stem, tilery.load(path))


def numbers(release: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", release)]


# ---------------------------------------------------------------- tileiras


def install(args: argparse.Namespace) -> None:
    """Install releases of tileiras, each into a folder of its own."""
    pip = [sys.executable, "-m", "pip"]
    for release in args.releases or versions_of(pip, "nvidia-cuda-tileiras"):
        folder = Path(args.folder, release)
        if folder.exists():
            continue
        wanted = {name: nearest(release, versions_of(pip, name)) for name in ("nvidia-cuda-nvcc", "nvidia-nvvm")}
        packages = [f"{name}=={found}" for name, found in [("nvidia-cuda-tileiras", release), *wanted.items()]]
        subprocess.run([*pip, "install", "-q", "--no-deps", "--target", str(folder), *packages], check=True)


def versions_of(pip: list[str], package: str) -> list[str]:
    """Return the releases of a package that pip can find."""
    done = subprocess.run([*pip, "index", "versions", package], capture_output=True, text=True, check=True)
    return re.findall(r"\d+(?:\.\d+)+", done.stdout.partition("Available versions:")[2].partition("\n")[0])


def nearest(release: str, found: list[str]) -> str:
    """Return the release of another package that belongs to one of tileiras: the same, or else the next older one.

    >>> nearest("13.3.36", ["13.4.59", "13.3.73", "13.3.33"])
    '13.3.33'
    """
    return max((each for each in found if numbers(each) <= numbers(release)), key=numbers)


def tools(folder: Path) -> list[Path]:
    """Return the compilers in a folder of releases, oldest first."""
    if folder.is_file():
        return [folder]
    found = [path for path in folder.glob("*/nvidia/*/bin/tileiras") if os.access(path, os.X_OK)]
    return sorted(found, key=lambda path: numbers(tool_version(path)))


def complete(tool: Path) -> bool:
    """Put libnvvm where tileiras 13.1 looks for it; return whether that was needed."""
    top = tool.parent.parent
    libraries = sorted(top.glob("lib/libnvvm.so*"))
    if numbers(tool_version(tool))[:2] != [13, 1] or not libraries:
        return False
    if not (top / LIBRARY).exists():
        (top / LIBRARY).parent.mkdir(parents=True, exist_ok=True)
        (top / LIBRARY).symlink_to(libraries[0])
    return True


def all_cases(args: argparse.Namespace) -> list[Case]:
    """Return the modules that the options select."""
    own = corpus(args.corpus, args.count) if args.corpus else texts()
    return [*own, *dumped(args.records), *random_modules(args.seeds)]


def watch_tileiras(args: argparse.Namespace) -> None:
    """Compile every module with every release."""
    records, cases = args.records, all_cases(args)
    for tool in tools(args.folder):
        path = records / f"tileiras-{tool_version(tool)}.jsonl"
        completed = complete(tool)
        done = {(row["group"], row["name"]) for row in read(path)}
        if not done:
            reads = [str(version) for version in readable_versions(tool)]
            append(path, {"group": "", "name": "", "reads": reads, "for": architectures(tool), "completed": completed})
        todo = [case for case in cases if case[:2] not in done]
        with progress(len(todo), f"modules, tileiras {tool_version(tool)}") as step:
            for case in todo:
                append(path, {"group": case.group, "name": case.name} | compiled(tool, case.module))
                step()


def compile_again(args: argparse.Namespace) -> None:
    """Compile modules of which two releases make other code several times, and keep the hashes."""
    found = {tool_version(tool): tool for tool in tools(args.folder)}
    rows = [
        {(row["group"], row["name"]): row.get("code") for row in read(args.records / f"tileiras-{release}.jsonl")}
        for release in args.between
    ]
    for case in all_cases(args):
        codes = [by_name.get(case[:2]) for by_name in rows]
        if None in codes or codes[0] == codes[1]:
            continue
        for release in args.between:
            made = [compiled(found[release], case.module).get("code") for _ in range(AGAIN)]
            row = {"group": case.group, "name": case.name, "release": release, "codes": made}
            append(args.records / "again-tileiras.jsonl", row)


def compiled(tool: Path, module: Module) -> Row:
    """Compile a module: the outcome, what was said, the size and the hash of the machine code, and processor time."""
    versions = readable_versions(tool)
    if module.version not in versions:
        module = without_hints(module)  # releases before 13.3 refuse those that are for every architecture
    try:
        data = encode(module, versions)
    except TileError as error:
        return {"outcome": "inexpressible", "said": error.message}
    environment = {key: value for key, value in os.environ.items() if key not in ("CUDA_HOME", "CUDA_PATH")}
    with tempfile.TemporaryDirectory(prefix="tilery") as folder:
        source, target = Path(folder, "in.tileirbc"), Path(folder, "out.cubin")
        source.write_bytes(data)
        before = processor_seconds()
        try:
            done = run_program([str(tool), "--gpu-name", GPU, str(source), "-o", str(target)], SECONDS, env=environment)
        except subprocess.TimeoutExpired:
            return {"outcome": "late", "said": f"no answer within {SECONDS} s"}
        row = {"milliseconds": round(1000 * (processor_seconds() - before)), "bytecode": str(data[8]) + f".{data[9]}"}
        if done.returncode == 0:
            code = machine_code(target.read_bytes())
            digest = hashlib.sha256(code).hexdigest()[:16]
            return row | {"outcome": "compiled", "size": len(code), "code": digest}
    said = re.findall(r"error: (.*)", done.stderr.decode(errors="replace")) or [""]
    said = [re.sub(r"error at offset \d+: |loc\(.*?\): ", "", text) for text in said]
    outcome = {REFUSED: "refused", FAILED: "failed"}.get(done.returncode, "crashed")
    return row | {"outcome": outcome, "said": said[0][:200], "status": done.returncode}


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def machine_code(image: bytes) -> bytes:
    """Return the sections with instructions of an ELF file, in the order of their names.

    Other sections name the release of the compiler.
    """
    table, size, count, names = *struct.unpack_from("<Q", image, 40), *struct.unpack_from("<HHH", image, 58)
    headers = [struct.unpack_from("<IIQQQQ", image, table + size * number) for number in range(count)]
    strings = headers[names][4]
    found = []
    for name, _, _, _, offset, length in headers:
        start = strings + name
        text = image[start : image.index(b"\0", start)]
        if text.startswith(b".text"):
            found.append((text, image[offset : offset + length]))
    return b"".join(text + code for text, code in sorted(found))


# ---------------------------------------------------------------- cuTile


def watch_cutile(args: argparse.Namespace) -> None:
    """Run NVIDIA's samples with every release of cuTile; keep what they print and the modules that they make."""
    records = Path(args.records)
    for folder in sorted(args.folder.iterdir(), key=lambda path: numbers(path.name)):
        path = records / f"cutile-{folder.name}.jsonl"
        done = {row["name"] for row in read(path)}
        for sample in SAMPLES:
            if sample not in done:
                append(path, {"name": sample} | ran(folder, sample, args, records / "modules" / folder.name))
                print(folder.name, sample, read(path)[-1]["outcome"], flush=True)


def ran(folder: Path, sample: str, args: argparse.Namespace, target: Path) -> Row:
    """Run a sample: how it ended, its last line, and a hash of the text of each module."""
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tilery") as scratch:
        own = {"CUDA_TILE_DUMP_BYTECODE": f"{scratch}/dump", "CUDA_TILE_CACHE_DIR": f"{scratch}/cache"}
        own["PYTHONPATH"] = os.pathsep.join([str(folder.resolve()), str(checkout.ROOT / "src")])
        script = [f"{sample}.py", "--correctness-check"]
        command = [sys.executable, "-m", "tilery", "cutile", "run", "--engine", args.engine, *script]
        before = processor_seconds()
        try:
            done = run_program(command, args.limit, cwd=args.samples, env=os.environ | own, stderr=subprocess.STDOUT)
            outcome = "passed" if done.returncode == 0 else "failed"
            lines = [line for line in done.stdout.decode(errors="replace").splitlines() if line.strip()]
        except subprocess.TimeoutExpired:
            outcome, lines = "late", []
        seconds = round(processor_seconds() - before, 1)
        modules = {}
        for number, path in enumerate(sorted(Path(scratch, "dump").glob("*.tileirbc"))):
            name = f"{sample} {number}"
            (target / f"{name}.tileirbc").write_bytes(path.read_bytes())
            module = tilery.load(path)
            strip_debug_info(module, Report())
            module.producer = None
            modules[name] = hashlib.sha256(str(module).encode()).hexdigest()[:16]
    said = next((line for line in reversed(lines) if "rror" in line), lines[-1] if lines else "")
    return {"outcome": outcome, "said": said.strip()[:200], "seconds": seconds, "modules": modules}


# ---------------------------------------------------------------- records


def read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def append(path: Path, row: Row) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


def write_page(args: argparse.Namespace) -> None:
    found: dict[str, dict[str, list[Row]]] = {"tileiras": {}, "cutile": {}, "again": {}}
    for path in Path(args.records).glob("*.jsonl"):
        kind, _, release = path.stem.partition("-")
        found[kind][release] = read(path)
    ordered = {kind: dict(sorted(rows.items(), key=lambda item: numbers(item[0]))) for kind, rows in found.items()}
    again = found["again"].get("tileiras", [])
    checkout.publish(page(ordered["tileiras"], ordered["cutile"], again, GPU), REPORT)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(required=True)
    for name, function in (
        ("install", install),
        ("tileiras", watch_tileiras),
        ("again", compile_again),
        ("cutile", watch_cutile),
        ("page", write_page),
    ):
        verb = verbs.add_parser(name)
        verb.set_defaults(run=function)
        if name != "page":
            verb.add_argument("folder", type=Path)
        if name != "install":
            verb.add_argument("--records", type=Path, required=True)
        if name == "install":
            verb.add_argument("releases", nargs="*")
        if name == "again":
            verb.add_argument("--between", nargs=2, required=True, metavar="RELEASE")
        if name in ("tileiras", "again"):
            verb.add_argument("--corpus", type=Path)
            verb.add_argument("--count", type=int, default=250)
            verb.add_argument("--seeds", type=int, default=250)
        if name == "cutile":
            verb.add_argument("--samples", type=Path, required=True)
            verb.add_argument("--engine", default="cpu")
            verb.add_argument("--limit", type=int, default=180, metavar="SECONDS")
    args = parser.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
