"""The configuration of Sphinx. `scripts/website/build.py` copies it beside the documents."""

from __future__ import annotations

import builtins
import os
from importlib import import_module
from pathlib import Path
from typing import Any

from docutils.nodes import Text
from sphinx.addnodes import pending_xref

import tilery
from website.assemble import API, public
from website.docstrings import as_rst

project = "tilery"
author = "the authors of tilery"
version = release = os.environ.get("SITE_VERSION") or tilery.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["files"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
myst_all_links_external = False
default_role = "code"
smartquotes_action = "qe"  # two hyphens begin an option
pygments_style, pygments_dark_style = "a11y-light", "a11y-dark"
html_theme = "furo"
html_title = f"tilery {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
templates_path = ["_templates"]
html_show_sourcelink = html_copy_source = False
html_show_sphinx = html_show_copyright = False
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_default_options = {"exclude-members": "__init__, __new__"}
python_use_unqualified_type_names = True
toc_object_entries = False
versions = [v for v in os.environ.get("SITE_VERSIONS", "").split(",") if v]
html_context = {"versions": versions}
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/versions.html",
        "sidebar/scroll-end.html",
    ]
}


def clean(app: Any, what: str, name: str, value: object, options: Any, lines: list[str]) -> None:
    lines[:] = as_rst(lines)


owners: dict[str, set[int]] = {}
for module in API:
    for name in public(module):
        owners.setdefault(name, set()).add(id(getattr(import_module(module), name)))


def settle(app: Any, page: Any) -> None:
    """Settle what short names of annotations mean: Python's own have no page, and a module's own class is first."""
    for link in [link for link in page.findall(pending_xref) if link["refdomain"] == "py"]:
        name = link["reftarget"]
        if (full := f"{link.get('py:module')}.{name}") in app.env.domains["py"].objects:
            link["reftarget"] = full
        elif hasattr(builtins, name) or len(owners.get(name, ())) > 1:
            link.replace_self(Text(name))


def setup(app: Any) -> None:
    from tilery.manual.highlighting import TileIRLexer

    app.add_lexer("mlir", TileIRLexer)
    app.connect("autodoc-process-docstring", clean)
    app.connect("doctree-read", settle)
