"""Collect the inputs of tests/golden: what other tests read, optimise and launch, random modules, hand-shaped kernels.

    pytest -p parts.recording_plugin tests/...             # writes build/golden/*.jsonl
    python -m parts.digest_material build/golden/*.jsonl   # writes tests/golden/material.json.xz

The inputs are stored, so that a change of a test or of a generator does not change them. Collect them again only to
have better ones, and bless the digests then.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import random
import sys
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import checkout
from parts.shaped.case import Part
from parts.shaped.families import FAMILIES
from tilery.bytecode.writer import write
from tilery.diag import TileError
from tilery.engines.common.tiles import CARRIERS
from tilery.smith import Buffer, Contract, Launch, smith, smith_with_contract
from tilery.text.print.printer import show
from tilery.version import SUPPORTED

sys.path.insert(0, str(checkout.ROOT / "tests"))
from golden.launches import launched, module_of  # the path is set above
from support.contract import arguments, random_case, store_all_values  # as above

Row = dict[str, Any]
FILE = checkout.ROOT / "tests" / "golden" / "material.json.xz"
PATIENCE = 0.06
"""The processor time that a launch may take, three times, in seconds."""
MOST = {"text": 650, "bytes": 140, "pass": 220, "launch": 230}
"""How many recorded inputs are kept of each kind."""


def spread(rows: Iterable[Row], count: int) -> list[Row]:
    """Choose rows of as many tests as possible, by turns."""
    by_test: dict[str, list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: hashlib.sha256(json.dumps(row).encode()).hexdigest()):
        by_test[row["test"].partition("[")[0]].append(row)
    found: list[Row] = []
    while len(found) < count and any(by_test.values()):
        for each in by_test.values():
            if each and len(found) < count:
                found.append(each.pop())
    return found


def random_files() -> list[bytes]:
    """Return the bytecode of random modules: small ones, a few large ones, versions take turns."""
    sizes = [1, 1, 2, 2, 3, 4, 8, 30]
    found = []
    for number in range(100):
        module = smith(number, size=sizes[number % len(sizes)])
        try:
            found.append(write(module, SUPPORTED[-1 - number % 7 % len(SUPPORTED)]))
        except TileError:
            found.append(write(module, SUPPORTED[-1]))
    return found


def contract_row(text: str, launch: Launch, seed: int) -> Row:
    regions, args = [], []
    for number, (argument, value) in enumerate(zip(launch.args, arguments(launch, seed))):
        if isinstance(argument, Buffer):
            item = CARRIERS[argument.element.name].itemsize
            regions.append(
                {"seed": seed * 100 + number, "size": argument.count * item, "mask": argument.element.bits == 1}
            )
            args.append({"region": len(regions) - 1, "start": 0, "length": argument.count, "item": item})
        else:
            args.append(value)
    return {"text": text, "entry": launch.entry, "grid": list(launch.grid), "regions": regions, "args": args}


def random_launches() -> list[Row]:
    """Return launches of random modules that store what they compute."""
    found = []
    cases: list[tuple[Any, Contract]] = [random_case(seed) for seed in range(36)]
    cases += [store_all_values(*smith_with_contract(seed, size=12), every=True) for seed in range(100, 140)]
    for number, (module, contract) in enumerate(cases):
        text = show(module, "generic")
        found += [contract_row(text, launch, number) for launch in contract.launches[:1]]
    return [row for row in found if sum(region["size"] for region in row["regions"]) < 1 << 18]


def shaped_launches() -> list[Row]:
    """Return the smallest hand-shaped kernels of each family; seeds are other ones than those of the campaigns."""
    found = []
    for name, make in FAMILIES.items():
        rows = []
        for seed in range(10):
            case = make(random.Random(f"golden {name} {seed}"))
            regions = [b64encode(np.ascontiguousarray(region).tobytes()).decode() for region in case.regions]
            args = [
                {"region": arg.region, "start": arg.start, "length": arg.length, "item": arg.item}
                if isinstance(arg, Part) else arg for arg in case.args
            ]  # fmt: skip
            entry = case.text.partition("@")[2].partition("(")[0]
            entry = case.text.partition("entry @")[2].partition("(")[0] or entry
            rows.append({"text": case.text, "entry": entry, "grid": list(case.grid), "regions": regions, "args": args})
        found += sorted(rows, key=lambda row: len(json.dumps(row)))[:4]
    return [row for row in found if len(json.dumps(row)) < 60_000]


def recorded_launch(row: Row) -> Row:
    regions, args = [], []
    for arg in row["args"]:
        if isinstance(arg, dict) and (data := b64decode(arg["b"])):
            count = int(np.prod(arg["s"])) if arg["s"] else 1
            regions.append(arg["b"])
            item = max(1, len(data) // count) if count else 1
            args.append(
                {"region": len(regions) - 1, "start": 0, "length": count, "item": item, "shape": arg["s"],
                 "writeable": arg["w"]}
            )  # fmt: skip
        elif isinstance(arg, dict):
            return {}
        else:
            args.append(arg)
    kept = {key: row[key] for key in ("text", "entry", "grid", "convention")}
    return kept | {"regions": regions, "args": args}


def judged(row: Row) -> Row | None:
    """Return a launch, marked if its result depends on the order of its tile blocks; None if it takes long."""
    started = process_time()
    m = module_of(row)
    contents = []
    for batch in (None, 1, 3):
        contents.append(launched(row, m, batch=batch)[1])
        if process_time() - started > PATIENCE:
            return None
    if any(len(content) > 1 << 16 for content in contents[0]):
        return None
    legal = [content for content in contents if content]
    return row | {"racy": True} if any(content != legal[0] for content in legal) else row


def main(paths: list[str]) -> None:
    rows: dict[str, list[Row]] = defaultdict(list)
    for path in paths:
        for line in Path(path).read_text("utf-8").splitlines():
            row = json.loads(line)
            rows["text" if row["kind"] == "lossless" else row["kind"]].append(row)
    chosen = {kind: spread(rows[kind], count) for kind, count in MOST.items()}
    texts = list(dict.fromkeys([*(row["text"] for row in chosen["text"]), *random_texts()]))
    files = [*random_files(), *(bytes.fromhex(row["data"]) for row in chosen["bytes"])]
    launches = [*map(recorded_launch, chosen["launch"]), *random_launches(), *shaped_launches()]
    data = {
        "files": [b64encode(each).decode() for each in dict.fromkeys(files)],
        "texts": texts,
        "passes": [{"text": row["text"], "pipeline": row["pipeline"]} for row in chosen["pass"]],
        "launches": [row for each in launches if each and (row := judged(each)) is not None],
    }
    FILE.write_bytes(lzma.compress(json.dumps(data).encode("utf-8", "surrogatepass"), preset=9 | lzma.PRESET_EXTREME))
    print({key: len(value) for key, value in data.items()}, FILE.stat().st_size)


def random_texts() -> list[str]:
    """Return texts of random modules in every style."""
    sizes = [1, 1, 2, 2, 3, 4, 8, 20]
    styles = [("disasm", False), ("disasm", True), ("opt", True), ("generic", True), ("opt", False), ("generic", False)]
    return [show(smith(n, size=sizes[n % len(sizes)]), *styles[n % len(styles)]) for n in range(200, 290)]


if __name__ == "__main__":
    main(sys.argv[1:])
