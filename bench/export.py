"""Write kernels/more: kernels of more_kernels.py as Tile IR, for tools without cuTile.

python bench/export.py     (needs cuTile)
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "src"), str(HERE)]

SIGNATURES = {
    "transpose": "f32[256, 256], f32[256, 256], 64, 64",
    "gemm": "bf16[256, 256], bf16[256, 256], bf16[256, 256], 128, 128, 64",
    "int_gemm": "i8[256, 256], i8[256, 256], i32[256, 256], 128, 128, 64",
    "grouped_gemm": "f32[4, 256, 256], f32[4, 256, 256], f32[4, 256, 256], 64, 64, 32",
    "histogram": "i32[4096], i32[256], 1024",
    "fft": "f32[256, 64, 64], f32[256, 64, 64], f32[64, 64], f32[64, 64], f32[64, 64], f32[64, 64], "
    "f32[256, 64, 64], f32[256, 64, 64], 64",
    "experts": "f32[1024, 256], f32[8, 256, 256], i32[1024], i32[16], f32[1024, 256], 64, 64, 64",
}


def exported(name: str) -> str:
    """Return the Tile IR of a kernel, named like its function."""
    import more_kernels
    import tilery.cutile

    module = tilery.cutile.module(getattr(more_kernels, name), SIGNATURES[name])
    module.entries[0].sym_name = name
    return str(module).rstrip("\n") + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    for name in SIGNATURES:
        (HERE / "kernels" / "more" / f"{name}.mlir").write_text(exported(name), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
