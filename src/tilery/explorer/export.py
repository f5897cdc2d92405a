"""One HTML file with everything that the panes show. It needs no server, loads nothing, and executes only its scripts.

The scripts are allowed by their hashes, and the data is JSON in which no `<` occurs: whatever a kernel is named, it
cannot end the element or start another.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from .assets import SCRIPTS, STYLE, VENDOR, asset, page
from .graph import MAX_NODES

Ask = Callable[[dict[str, Any]], dict[str, Any]]


def recorded(
    ask: Ask, text: str, name: str, choices: dict[str, Any], run: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the responses that an exported page needs."""
    document = {"text": text, "origin": choices.get("origin", "")}
    analysed = ask({"do": "analyse", **document})
    kernels = [f["id"] for f in analysed.get("functions", []) if f["kind"] == "entry"]
    return {
        "name": name,
        "text": text,
        "passes": choices.get("passes", ""),
        "gpu": choices.get("gpu", ""),
        "grid": choices.get("grid", [1]),
        "responses": {
            "hello": ask({"do": "hello"}),
            "analyse": analysed,
            "bytes": ask({"do": "bytes", **document}),
            "pipeline": ask({"do": "pipeline", **document, "passes": choices.get("passes", "")}),
            "cost": ask({"do": "cost", **document, "gpu": choices.get("gpu"), "grid": choices.get("grid")}),
            "form": ask({"do": "form", **document}),
            "run": run,
        },
        "graphs": {str(k): ask({"do": "graph", **document, "function": k, "around": k + 1}) for k in kernels[:50]},
        "sources": [],
        "limit": MAX_NODES,
    }


def export_html(data: dict[str, Any]) -> str:
    """Return the page with its data.

    >>> "</script><b>" in export_html({"name": "</script><b>"})
    False
    """
    scripts = [asset(name).decode() for name in (VENDOR, *SCRIPTS)]
    style = asset(STYLE).decode()
    sources = " ".join(f"'{_hash(script)}'" for script in scripts)
    policy = f"default-src 'none'; script-src {sources}; style-src '{_hash(style)}'; img-src data:; base-uri 'none'"
    block = f'<script type="application/json" id="exported">{as_data(data)}</script>\n'
    return page(
        block + "".join(f"<script>{script}</script>\n" for script in scripts), f"<style>{style}</style>", policy
    )


def as_data(data: Any) -> str:
    """Return JSON that is safe inside a script element.

    >>> as_data("<!--")
    '"\\\\u003c!--"'
    """
    return json.dumps(data, allow_nan=False).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _hash(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()
