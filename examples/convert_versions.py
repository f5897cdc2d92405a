"""Write a file in every bytecode version, or print why a version cannot express it.

    python examples/convert_versions.py kernel.tileirbc

Without a file, the example uses a kernel that needs 13.2.
"""

import sys
from pathlib import Path

import tilery
from tilery import Block, Value
from tilery.ops import Atan2, Entry, Module, Return
from tilery.types import F32, Function, Tile


def angle() -> Module:
    """Return a kernel with an operation that 13.1 does not have."""
    x = Value(Tile((), F32))
    body = Block([x], [Atan2(x=x, y=x), Return()])
    return Module(body=Block(ops=[Entry(sym_name="angle", function_type=Function([x.type]), body=body)]))


def main() -> None:
    module = tilery.load(sys.argv[1]) if len(sys.argv) > 1 else angle()
    stem = Path(sys.argv[1]).stem if len(sys.argv) > 1 else "angle"
    for version in tilery.SUPPORTED:
        try:
            data = tilery.dumps(module, version)
        except tilery.TileError as error:
            print(f"{version}: {error.message}")
            continue
        path = Path(f"{stem}.{version}.tileirbc")
        path.write_bytes(data)
        print(f"{version}: {path}, {len(data)} bytes")


if __name__ == "__main__":
    main()
