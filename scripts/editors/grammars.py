"""Write the grammars for editors from the tables.

python scripts/editors/grammars.py
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "src"))

from tilery.manual import grammars  # noqa: E402  # found only now

FILES = {
    "editors/vscode/syntaxes/tileir.tmLanguage.json": grammars.textmate,
    "editors/vim/syntax/tileir.vim": grammars.vim,
}


def main() -> None:
    for name, make in FILES.items():
        path = ROOT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()
