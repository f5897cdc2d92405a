"""Text with colours: HTML for notebooks, and escape sequences for terminals."""

from __future__ import annotations

import html
import re

MAX_LINES = 1000
STYLE = {
    "comment": "#6a737d",
    "string": "#032f62",
    "symbol": "#6f42c1",
    "value": "#005cc5",
    "type": "#22863a",
    "number": "#b08800",
    "op": "#d73a49",
}
ANSI = {
    "comment": "90",
    "string": "33",
    "symbol": "1;35",
    "value": "34",
    "type": "32",
    "number": "36",
    "op": "1",
}
"""The same for terminals: colours of the standard palette, which are legible on dark and on light."""

TYPE = r"""\b(?:tile|ptr|token|tensor_view|partition_view|strided_view|gather_scatter_view)\b
          (?:<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>)?"""
"""A pattern for types, which may be nested three deep; for `re.X`."""
_TOKEN = re.compile(
    rf"""(?P<comment>//[^\n]*)
      | (?P<string>"(?:\\.|[^"\\])*")
      | (?P<symbol>[@\#][\w.$-]+)
      | (?P<value>%[\w.$#:-]+)
      | (?P<type>{TYPE})
      | (?P<number>-?\b(?:0x[0-9A-Fa-f]+|\d+(?:\.\d+(?:[eE][+-]?\d+)?)?)\b)
      | (?P<op>(?:(?<=[=] )|(?<=^)|(?<=\n))\ *[a-z][\w.$]*)""",
    re.X,
)


def to_html(text: str) -> str:
    """Return a block of preformatted HTML; a long text is cut.

    >>> to_html("return")
    '<pre style="line-height:1.3"><span style="color:#d73a49">return</span></pre>'
    """
    lines = text.splitlines()
    if len(lines) > MAX_LINES:
        text = "\n".join(lines[:MAX_LINES]) + f"\n// {len(lines) - MAX_LINES} more lines"
    out: list[str] = []
    end = 0
    for match in _TOKEN.finditer(text):
        out.append(html.escape(text[end : match.start()]))
        color = STYLE[match.lastgroup or "op"]
        out.append(f'<span style="color:{color}">{html.escape(match[0])}</span>')
        end = match.end()
    out.append(html.escape(text[end:]))
    return f'<pre style="line-height:1.3">{"".join(out)}</pre>'


def to_ansi(text: str) -> str:
    """Return the text with colours for a terminal.

    >>> to_ansi("return")
    '\\x1b[1mreturn\\x1b[0m'
    """
    return _TOKEN.sub(lambda match: f"\x1b[{ANSI[match.lastgroup or 'op']}m{match[0]}\x1b[0m", text)
