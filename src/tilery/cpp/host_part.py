"""The host code of a program: tile kernels become stubs that launch them, and `<<<...>>>` becomes plain C++.

The input is preprocessed C++ in which the annotations of CUDA are the words in `MARKERS`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..diag import TileError
from .tokens import CLOSING, MAX_ARGUMENTS, NOT_PARAMETERS, CppToken, CppTokens, after_initialisers, closing, tokens

HOST, TILE, KERNEL, SIMT = "TILERY_HOST", "TILERY_TILE", "TILERY_KERNEL", "TILERY_SIMT"
MARKERS = {
    "__host__": HOST,
    "__tile__": TILE,
    "__tile_global__": KERNEL,
    "__global__": SIMT,
    "__tile_builtin__": "",
    "__device__": "",
    "__constant__": "",
    "__managed__": "",
    "__shared__": "static",
    "__grid_constant__": "",
}
"""How the preprocessor spells the annotations."""
MAX_HEAD = 500
"""The most tokens of a function before its body, without what is in brackets."""
TAG = "tilery_kernel"
"""The class inside a stub: the name of its type has the symbol of the stub, template arguments included."""
Edit = tuple[int, int, str]
"""A span of the text and what replaces it."""


def host_code(text: str) -> str:
    """Return preprocessed C++ as a host compiler takes it."""
    found = tokens(text)
    edits: list[Edit] = []
    skip = 0  # what is inside a body that was replaced
    for at, token in enumerate(found):
        if at < skip:
            continue
        if token.text in (TILE, KERNEL, SIMT):
            edits.append((token.start, token.end, ""))
            skip = max(skip, edit_function(text, found, at, edits))
        elif token.text == HOST:
            edits.append((token.start, token.end, ""))
        elif token.text == "<<<":
            edits += edit_launch(text, found, at)
    return apply_edits(text, edits)


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Apply edits of spans that do not overlap.

    >>> apply_edits("abc", [(1, 2, "BB"), (0, 0, "-")])
    '-aBBc'
    """
    parts, at = [], 0
    for start, end, new in sorted(edits):
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


# ---------------------------------------------------------------- functions


def edit_function(text: str, found: CppTokens, marker: int, edits: list[Edit]) -> int:
    """Edit the function that an annotation belongs to; return the index of the token after what was replaced."""
    parameters, body = find_function(found, marker)
    if parameters is None or body is None:
        return 0
    word = found[marker].text
    if word == SIMT:
        end = closing(found, body)
        edits.append((found[body].end, found[body].end, " ::tilery::each_thread([=]() mutable {"))
        edits.append((found[end].start, found[end].start, "}); "))
        return 0
    if word == TILE and is_for_host(found, marker, parameters):
        return 0
    brace = after_initialisers(found, body) if found[body].text == ":" else body
    end = closing(found, brace)
    start = found[body].start
    lines = "\n" * text.count("\n", start, found[end].end)
    if word == TILE:
        edits.append((start, found[end].end, ";" + lines))
    else:
        names = name_parameters(found, parameters, edits)
        edits.append((start, found[end].end, stub(names) + lines))
    return end + 1


def find_function(found: CppTokens, marker: int) -> tuple[int | None, int | None]:
    """Return where the parameters of a function open, and its body or its list of initialisers; None if it has none."""
    parameters: int | None = None
    at = marker + 1
    while at < min(len(found), marker + MAX_HEAD):
        text, before = found[at].text, found[at - 1].text
        if text in (TILE, KERNEL, SIMT):
            return None, None  # the function is found by that annotation
        if text == "(":
            if before not in NOT_PARAMETERS:
                parameters = at
            at = closing(found, at)
        elif text == "[":
            at = closing(found, at)
        elif text in (";", "=", "}") and before != "operator":
            return parameters, None
        elif text == "{" or (text == ":" and parameters is not None):
            return parameters, at if parameters is not None else None
        at += 1
    return parameters, None


def is_for_host(found: CppTokens, marker: int, parameters: int) -> bool:
    """Whether a function is annotated for the host too."""
    at = marker
    while at > max(0, marker - MAX_HEAD) and found[at - 1].kind == "word" and found[at - 1].text != "template":
        at -= 1
    return any(token.text == HOST for token in found[at:parameters])


def name_parameters(found: CppTokens, opened: int, edits: list[Edit]) -> list[str]:
    """Return the names of parameters, with `...` after those of packs; those without a name get one."""
    names: list[str] = []
    for part in split_commas(found, opened):
        words = [token.text for token in part]
        if not words or words == ["void"]:
            continue
        plain = part[: words.index("=")] if "=" in words else part
        while plain and plain[-1].text == "]":  # an array
            depth = next(i for i in range(len(plain) - 1, -1, -1) if plain[i].text == "[")
            plain = plain[:depth]
        last = plain[-1]
        dots = "..." if any(token.text == "..." for token in plain) else ""
        if len(plain) > 1 and last.kind == "word" and last.text not in _NOT_NAMES and plain[-2].text != "::":
            names.append(last.text + dots)
        else:
            names.append(f"tilery_argument{len(names)}{dots}")
            edits.append((last.end, last.end, f" tilery_argument{len(names) - 1}"))
    return names


_NOT_NAMES = frozenset(
    ["const", "int", "unsigned", "long", "short", "char", "bool", "float", "double", "signed", "__restrict__"]
)


def split_commas(found: CppTokens, opened: int) -> list[list[CppToken]]:
    """Return the tokens between the commas inside a parenthesis; angle brackets hide commas, too."""
    end = closing(found, opened)
    parts: list[list[CppToken]] = []
    start, depth, at = opened + 1, 0, opened + 1
    while at < end:
        text = found[at].text
        if text in ("(", "[", "{"):
            at = closing(found, at)
        elif text == "<":
            depth += 1
        elif text in (">", ">>>"):
            depth -= len(text)
        elif text == "," and depth <= 0:
            parts.append(found[start:at])
            start = at + 1
        at += 1
    return [*parts, found[start:end]]


def stub(names: Sequence[str]) -> str:
    """Return the body of a tile kernel on the host: it hands the addresses of its arguments to the runtime."""
    slots = ", ".join(f"(void*)&{name}" for name in names) or "nullptr"
    return (
        f"{{ struct {TAG} {{}}; void* tilery_slots[] = {{{slots}}};"
        f" ::tilery::launch_tile(typeid({TAG}).name(), tilery_slots); }}"
    )


# ---------------------------------------------------------------- launches


def edit_launch(text: str, found: CppTokens, at: int) -> list[Edit]:
    """Turn `KERNEL<<<CONFIGURATION>>>(ARGUMENTS)` into a call of the runtime with a lambda that calls the kernel."""
    start = kernel_start(found, at)
    end = configuration_end(found, at)
    if end is None or end + 1 >= len(found) or found[end + 1].text != "(":
        raise TileError(f"a launch without arguments: {text[found[start].start : found[at].end + 40]!r}")
    last = closing(found, end + 1)
    configuration = text[found[at].end : found[end].start]
    return [
        (found[start].start, found[start].start, f"::tilery::Grid({configuration}).run([&] {{ "),
        (found[at].start, found[end].end, ""),
        (found[last].end, found[last].end, "; })"),
    ]


def configuration_end(found: CppTokens, at: int) -> int | None:
    """Return the index of the `>>>` that closes the `<<<` at an index."""
    index = at + 1
    while index < min(len(found), at + MAX_HEAD):
        if found[index].text == ">>>":
            return index
        index = found.partner.get(index, index) if found[index].text in CLOSING else index
        index += 1
    return None


def kernel_start(found: CppTokens, at: int) -> int:
    """Return the index at which the expression before `<<<` begins: names, members and elements."""
    index = at - 1
    while index > 0:
        while index > 0 and found[index].text == "]":
            index = max(opening(found, index) - 1, 0)
        if found[index].text == ">":
            index = max(opening_angle(found, index) - 1, 0)
        elif found[index].text == ")":
            index = opening(found, index)
        link = index - 2 if found[index - 1].text == "template" else index - 1
        if link <= 0 or found[link].text not in ("::", ".", "->"):
            return index
        before = found[link - 1]
        if found[link].text == "::" and before.text != ">" and (before.kind != "word" or before.text in _STATEMENTS):
            return link  # the global namespace
        index = link - 1
    return 0


_STATEMENTS = frozenset(["else", "do", "return"])


def opening(found: CppTokens, at: int) -> int:
    """Return the index of the bracket that the one at an index closes; 0 if there is none."""
    return found.partner.get(at, 0)


def opening_angle(found: CppTokens, at: int) -> int:
    """Return the index of the `<` that the `>` at an index closes."""
    depth, index = 0, at
    while index > max(0, at - MAX_ARGUMENTS):
        text = found[index].text
        if text in (")", "]", "}"):
            index = opening(found, index)
        elif text in (">", ">>>"):
            depth += len(text)
        elif text == "<":
            depth -= 1
            if depth == 0:
                return index
        index -= 1
    return 0
