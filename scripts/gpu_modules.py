"""Run random modules on a GPU and on the reference engine; memory, globals and output must be the same, bit for bit.

    python scripts/gpu_modules.py build BUNDLE --tileiras PATH [--count 1000] [--seed 0] [--gpu sm_90] [--jobs 2]
    python gpu_launch.py BUNDLE RESULTS                                          (on the machine with the GPU)
    python scripts/gpu_modules.py compare BUNDLE RESULTS [BUNDLE RESULTS ...] [-v] [--output FILE]

`build` generates modules, compiles them with NVIDIA's compiler, and puts them into one file with everything that a
launch needs. Operations for which a GPU may compute other bits are left out; `tilery.engines.semantics` lists them.
`parts/gpu_compare.py` compares, and `parts/gpu_bugs.py` lists the known bugs of the compiler.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import checkout  # noqa: F401  # makes `support` importable
import tilery
from parts import gpu_bugs, gpu_compare
from support.contract import arguments, constants_as_arguments, store_all_values
from tilery.attrs import FloatAttr, IntAttr
from tilery.cli.progress import progress
from tilery.cli.verbs.smith import launch_data
from tilery.declare.operation import BY_NAME
from tilery.engines.semantics import same_bits
from tilery.ir import Op
from tilery.ops import Module
from tilery.passes.rename_symbol import rename_symbol
from tilery.rewrite import Report
from tilery.smith import Buffer, Contract, smith_with_contract
from tilery.types import TF32, Tile

REFUSED = {"sm_90": ("f8E8M0FNU", "f4E2M1FN", "fnv8E5M3FNU")}
"""Element types that the compiler does not accept for a GPU."""

SIZES = (20, 40, 80, 120)
MIXES: tuple[dict[str, float] | None, ...] = (
    None,
    {"Control Flow": 3, "Integer": 2, "Memory": 2, "Core": 1, "Bitwise": 1},
    {"Views": 3, "Atomics": 2, "Memory": 2, "Conversions": 1, "Core": 1},
    {"Core": 2, "reduce": 1, "scan": 1, "Conversions": 2, "Floating Point": 3, "Integer": 2, "print_tko": 0.5},
)
"""The weights of operations and chapters; None draws every operation alike."""


@dataclass
class Made:
    """A module, how to launch it, and the machine code or the error of the compiler."""

    name: str
    module: Module
    contract: Contract
    version: tilery.Version
    args: list[list[Any]]
    image: bytes = b""
    error: str = ""


def make(seed: int, gpu: str) -> Made:
    """Generate the module of a seed, with names that every tool accepts."""
    versions = tilery.SUPPORTED
    version = versions[seed % len(versions)]
    refused = REFUSED.get(gpu, ())

    def allow(o: Op) -> bool:
        tiles = (v.type for v in (*o.operands, *o.results) if isinstance(v.type, Tile))
        return same_bits(o) and not any(getattr(t.element, "name", "") in refused for t in tiles)

    size = SIZES[seed // 4 % len(SIZES)]
    mix = MIXES[seed // 64 % len(MIXES)]
    module, contract = smith_with_contract(seed, version=version, size=size, mix=known(mix, version), allow=allow)
    module, contract = store_all_values(module, contract, every=seed // 16 % 2 == 1)
    args = [arguments(launch, number) for number, launch in enumerate(contract.launches)]
    module, contract, contents = constants_as_arguments(module, contract, integers=seed // 32 % 2 == 1)
    for given, more in zip(args, contents):
        given += more
    return Made(f"{seed:06d}", module, with_plain_names(module, contract), version, args)


def with_plain_names(module: Module, contract: Contract) -> Contract:
    """Give globals and entries names that every tool accepts; return the contract with them."""
    launches = []
    for number, o in enumerate(module.globals):
        rename_symbol(module, Report(), o.sym_name, f"Global{number}")
    for number, launch in enumerate(contract.launches):
        rename_symbol(module, Report(), launch.entry, f"Kernel{number}")
        launches.append(replace(launch, entry=f"Kernel{number}"))
    return Contract(tuple(launches))


def known(mix: dict[str, float] | None, version: tilery.Version) -> dict[str, float] | None:
    """Remove operations that the version does not have yet."""
    return mix and {name: n for name, n in mix.items() if name not in BY_NAME or BY_NAME[name].since <= version}


def compile_module(made: Made, gpu: str, tileiras: str) -> Made:
    """Add the machine code of a module, or the error of the compiler."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "module.tileirbc"), Path(folder, "module.cubin")
        source.write_bytes(tilery.dumps(made.module, made.version))
        command = [tileiras, "--gpu-name", gpu, str(source), "-o", str(target)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=120)
        except subprocess.TimeoutExpired:
            made.error = "takes longer than two minutes"
            return made
        if done.returncode:
            said = re.findall(r"error: (.*)", done.stderr) or [f"exit status {done.returncode}"]
            made.error = said[0]
        else:
            made.image = target.read_bytes()
    return made


def compile_seed(seed: int, gpu: str, tileiras: str) -> Made:
    return compile_module(make(seed, gpu), gpu, tileiras)


def reduced_kernels() -> list[Made]:
    """Return the reduced kernels of the known bugs, to launch with every bundle."""
    found = []
    for bug in gpu_bugs.BUGS:
        contract = bug.contract()
        args = [arguments(launch, number) for number, launch in enumerate(contract.launches)]
        found.append(Made(bug.name, bug.module(), contract, tilery.LATEST, args))
    return found


def word(argument: FloatAttr | IntAttr) -> int:
    """Return a scalar argument as a word; tf32 occupies the upper bits."""
    return argument.bits << 13 if argument.type is TF32 else argument.bits


def plan(made: Made) -> tuple[dict[str, Any], bytes]:
    """Return how to launch a module, as plain data, and the content of its buffers."""
    launches, content = [], b""
    for number, launch in enumerate(made.contract.launches):
        data: Any = launch_data(launch)
        for known, argument, given in zip(data["args"], launch.args, made.args[number]):
            if isinstance(argument, Buffer):
                known["bytes"] = given.nbytes
                content += given.tobytes()
            else:
                known["word"] = word(argument)
        launches.append(data)
    sizes = {o.sym_name: o.value.type.size * 8 for o in made.module.globals}
    return {"name": made.name, "version": str(made.version), "launches": launches, "globals": sizes}, content


def build(args: argparse.Namespace) -> int:
    """Generate and compile modules, and write the bundle."""
    seeds = range(args.seed, args.seed + args.count)
    plans, refused = [], []
    with zipfile.ZipFile(args.bundle, "w", zipfile.ZIP_DEFLATED) as bundle:

        def add(made: Made) -> None:
            bundle.writestr(f"{made.name}.tileirbc", tilery.dumps(made.module, made.version))
            if made.error:
                refused.append({"name": made.name, "error": made.error})
                return
            job, content = plan(made)
            plans.append(job)
            bundle.writestr(f"{made.name}.cubin", made.image)
            bundle.writestr(f"{made.name}.in", content)

        for made in reduced_kernels():
            add(compile_module(made, args.gpu, args.tileiras))
        with ProcessPoolExecutor(args.jobs) as pool, progress(len(seeds), "modules") as step:
            compile_one = partial(compile_seed, gpu=args.gpu, tileiras=args.tileiras)
            for made in pool.map(compile_one, seeds, chunksize=4):
                step()
                add(made)
        bundle.writestr("plan.json", json.dumps(plans))
        bundle.writestr("refused.json", json.dumps(refused))
    print(f"{len(plans)} modules, {len(refused)} refused")
    for error, count in Counter(r["error"] for r in refused).most_common():
        print(f"{count:6} {error}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("build")
    one.add_argument("bundle", type=Path)
    one.add_argument("--tileiras", default="tileiras")
    one.add_argument("--gpu", default="sm_90")
    one.add_argument("--count", type=int, default=1000)
    one.add_argument("--seed", type=int, default=0)
    one.add_argument("--jobs", type=int, default=2)
    one.set_defaults(do=build)
    two = commands.add_parser("compare")
    two.add_argument("files", type=Path, nargs="+")
    two.add_argument("--jobs", type=int, default=2)
    two.add_argument("-v", "--verbose", action="store_true")
    two.add_argument("--output", type=Path)
    two.add_argument("--note", default="", help="a sentence for the report: where the bundles come from")
    two.set_defaults(do=gpu_compare.compare)
    args = parser.parse_args()
    status: int = args.do(args)
    return status


if __name__ == "__main__":
    sys.exit(main())
