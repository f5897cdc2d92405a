"""A picture of a debugging session in Neovim, as SVG: docs/pictures/neovim_debug.svg.

    python scripts/pictures/neovim_debug.py NVIM_DAP

NVIM_DAP is a checkout of nvim-dap (0.4 for Neovim 0.7). Neovim runs in a terminal that pyte (`pip install pyte`)
emulates, with the settings of editors/neovim.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "scripts"))

from editors.neovim_check import arguments  # noqa: E402  # found only now
from pictures import neovim  # noqa: E402
from pictures.terminal import TARGET  # noqa: E402

KERNEL = """// y = x * sqrt(20 - x), in tiles of 8 numbers.
entry @norm(%a: tile<ptr<f32>>, %out: tile<ptr<f32>>) {
  %b, %y, %z = get_tile_block_id : tile<i32>
  %eight = constant <i32: 8> : tile<i32>
  %start = muli %b, %eight : tile<i32>
  %lane = iota : tile<8xi32>
  %start1 = reshape %start : tile<i32> -> tile<1xi32>
  %starts = broadcast %start1 : tile<1xi32> -> tile<8xi32>
  %at = addi %starts, %lane : tile<8xi32>
  %a1 = reshape %a : tile<ptr<f32>> -> tile<1xptr<f32>>
  %an = broadcast %a1 : tile<1xptr<f32>> -> tile<8xptr<f32>>
  %pa = offset %an, %at : tile<8xptr<f32>>, tile<8xi32> -> tile<8xptr<f32>>
  %x, %t = load_ptr_tko weak %pa : tile<8xptr<f32>> -> tile<8xf32>, token
  %limit = constant <f32: 20.0> : tile<8xf32>
  %left = subf %limit, %x : tile<8xf32>
  %root = sqrt %left : tile<8xf32>
  %result = mulf %root, %x : tile<8xf32>
  return
}
"""


def main() -> int:
    nvim = shutil.which("nvim")
    if nvim is None or len(sys.argv) != 2:
        print("this needs Neovim and a checkout of nvim-dap", file=sys.stderr)
        return 77
    command = [*arguments(nvim), "--cmd", f"set rtp+={Path(sys.argv[1]).resolve()}"]
    shown = neovim.screen(command, KERNEL, ROOT / "scripts" / "pictures" / "neovim_debug.lua")
    (TARGET / "neovim_debug.svg").write_text(neovim.draw(shown), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
