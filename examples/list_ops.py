"""List the operations of a file with their result types, indented by nesting.

    python examples/list_ops.py kernel.tileirbc

Without a file, the example lists the kernel of make_kernel.py.
"""

import sys

import tilery
from make_kernel import vector_add
from tilery import Block, Op, walk
from tilery.ops import LoadPtrTko, LoadViewTko


def show(block: Block, depth: int = 0) -> None:
    """Print the operations of a block, and the operations inside them."""
    for op in block.ops:
        results = ", ".join(value.type.text for value in op.results)
        print("  " * depth + op.name + (f" -> {results}" if results else ""))
        for inner in op.blocks:
            show(inner, depth + 1)


def loads(block: Op | Block) -> int:
    """Count the loads at any depth: `walk` visits every operation, and `match` tells them apart."""
    count = 0
    for op in walk(block):
        match op:
            case LoadViewTko() | LoadPtrTko():
                count += 1
    return count


def main() -> None:
    module = tilery.load(sys.argv[1]) if len(sys.argv) > 1 else vector_add()
    show(module.body)
    print(f"{loads(module)} loads")


if __name__ == "__main__":
    main()
