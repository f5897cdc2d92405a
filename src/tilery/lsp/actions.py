"""Formatting and code actions: corrections of errors, and passes on a function."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lsprotocol import types as lsp

from ..declare.operation import has_trait
from ..declare.relations import FUNCTION
from ..diag import TileError
from ..ir import Block, Op, Value, walk
from ..ops import Module
from ..text import DIALECT
from ..text.lossless.format import edit_for, format_text
from ..text.lossless.reading import PlacedChunk
from ..text.lossless.recover import OPEN_REGION, UNEXPECTED_BRACE
from ..text.lossless.scopes import names_of
from ..text.print.chosen import show_named
from ..verifier.verify import NO_TERMINATOR
from .diagnostics import LINT, finding_range, findings
from .document import TextDocument, TextPlace, part_nodes

_SUGGESTION = re.compile(r"did you mean '([^']+)'\?")
_ALLOWED = re.compile(r"(?:one of|enum values)[^:\[{]*[:\[{] ?(.*)")


# ---------------------------------------------------------------- formatting


def formatting(document: TextDocument, range: lsp.Range | None = None) -> list[lsp.TextEdit]:
    """Return the change that formats a document, or the statements in a range; nothing if it cannot be parsed."""
    if document.reading.errors:
        return []
    lines = None if range is None else (range.start.line + 1, max(range.start.line, range.end.line) + 1)
    try:
        edit = edit_for(document.reading, lines)
    except TileError:
        return []
    return [] if edit is None else [_narrowed(document, edit.start, edit.end, edit.text)]


def _narrowed(document: TextDocument, start: int, end: int, new: str) -> lsp.TextEdit:
    """Return a replacement without the lines that are the same at its start and its end."""
    old = document.text[start:end]
    before = 0
    for a, b in zip(old.splitlines(True), new.splitlines(True)):
        if a != b:
            break
        before += len(a)
    after = 0
    for a, b in zip(reversed(old[before:].splitlines(True)), reversed(new[before:].splitlines(True))):
        if a != b:
            break
        after += len(a)
    changed = new[before : len(new) - after]
    return lsp.TextEdit(document.lines.range(start + before, end - after), changed)


# ---------------------------------------------------------------- code actions


def code_actions(document: TextDocument, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """Return corrections of the errors in a range, and what can be done with the function at its start."""
    made: list[lsp.CodeAction] = []
    for diagnostic in params.context.diagnostics:
        made += _lint_fixes(document, diagnostic) if diagnostic.source == LINT else _corrections(document, diagnostic)
    wanted = params.context.only
    if wanted is None or any(str(kind).startswith("refactor") or kind == "" for kind in wanted):
        function = _function_at(document, params.range.start)
        if function is not None:
            made.append(
                lsp.CodeAction(
                    f"Run canonicalize on @{function[1]}", lsp.CodeActionKind.RefactorRewrite,
                    data={"uri": document.uri, "version": document.version, "pass": "canonicalize",
                          "function": function[1]},
                )
            )  # fmt: skip
    return made


def _corrections(document: TextDocument, diagnostic: lsp.Diagnostic) -> Iterator[lsp.CodeAction]:
    place = document.place(diagnostic.range.start)
    word = _word(document, diagnostic)
    suggestions = _SUGGESTION.findall(diagnostic.message) + _similar(word, diagnostic.message)
    for new in dict.fromkeys(suggestions):
        if word:
            yield _fix(document, f"Replace '{word}' by '{new}'", diagnostic, diagnostic.range, new)
    if diagnostic.code == NO_TERMINATOR and place is not None:
        yield from _terminator(document, place, diagnostic)
    if diagnostic.code == OPEN_REGION and place is not None:
        yield from _brace(document, place, diagnostic)
    if diagnostic.code == UNEXPECTED_BRACE:
        yield _fix(document, "Remove this brace", diagnostic, diagnostic.range, "")


def _lint_fixes(document: TextDocument, diagnostic: lsp.Diagnostic) -> Iterator[lsp.CodeAction]:
    """Return the fix of a finding, and the comment that suppresses it."""
    from ..lint.edits import edit_for as lint_edit
    from ..lint.suppress import with_comment

    rule = str(diagnostic.code)
    for finding in findings(document):
        if finding.rule == rule and finding.fix is not None and finding_range(document, finding) == diagnostic.range:
            edit = lint_edit(finding, document.reading)
            if edit is not None:
                where = document.lines.range(edit.start, edit.end)
                yield _fix(document, finding.fix.title, diagnostic, where, edit.text)
            break
    line = diagnostic.range.start.line
    row = document.lines.rows()[line]
    whole = lsp.Range(lsp.Position(line, 0), lsp.Position(line, document.lines.width(row)))
    action = _fix(document, f"Ignore {rule} on this line", diagnostic, whole, with_comment(row, rule))
    action.is_preferred = False
    yield action


def _word(document: TextDocument, diagnostic: lsp.Diagnostic) -> str:
    lines = document.lines
    return document.text[lines.offset(diagnostic.range.start) : lines.offset(diagnostic.range.end)]


def _similar(word: str, message: str) -> list[str]:
    """Return the words that a message lists and that resemble the one at fault."""
    from difflib import get_close_matches

    found = _ALLOWED.search(message.partition("\n")[0])
    if found is None or not word:
        return []
    return get_close_matches(word, re.findall(r"[A-Za-z_][\w.]*", found[1]), 2)


def _fix(document: TextDocument, title: str, diagnostic: lsp.Diagnostic, range: lsp.Range, new: str) -> lsp.CodeAction:
    edit = lsp.WorkspaceEdit({document.uri: [lsp.TextEdit(range, new)]})
    return lsp.CodeAction(title, lsp.CodeActionKind.QuickFix, [diagnostic], edit=edit, is_preferred=True)


def _terminator(document: TextDocument, place: TextPlace, diagnostic: lsp.Diagnostic) -> Iterator[lsp.CodeAction]:
    """Insert the terminator of a region after its last operation; it gets the results of that operation."""
    node = place.node
    parent = node.parent if node is not None else None
    if node is None or parent is None or parent.opdef is None:
        return
    word = parent.opdef.implicit
    toks = place.parsed.tokens.spelled
    names = [toks[i] for i in node.results if toks[i][:1] == "%"]
    types = [value.type.text for value in (node.op.results if node.op is not None else [])]
    ended = f"{word} {', '.join(names)} : {', '.join(types)}" if names else word
    end = document.lines.position(place.part.start + place.parsed.tokens.span(node.end - 1)[1])
    margin = " " * place.parsed.tokens.column(node.first)
    title = f"Add the missing terminator '{word}'"
    yield _fix(document, title, diagnostic, lsp.Range(end, end), f"\n{margin}{ended}")


def _brace(document: TextDocument, place: TextPlace, diagnostic: lsp.Diagnostic) -> Iterator[lsp.CodeAction]:
    """Close a region after the lines that are indented further than the one that opens it."""
    rows = document.lines.rows()
    first = diagnostic.range.start.line
    margin = len(rows[first]) - len(rows[first].lstrip())
    last = first
    for row in range(first + 1, len(rows)):
        if rows[row].strip() and len(rows[row]) - len(rows[row].lstrip()) <= margin:
            break
        last = row if rows[row].strip() else last
    end = lsp.Position(last, document.lines.width(rows[last]))
    yield _fix(document, "Add the missing '}'", diagnostic, lsp.Range(end, end), f"\n{' ' * margin}}}")


# ---------------------------------------------------------------- passes on a function


def _function_at(document: TextDocument, position: lsp.Position) -> tuple[PlacedChunk, str] | None:
    """Return the function around a position if it and the globals could be read."""
    part = document.reading.part_at(document.lines.offset(position))
    if part.parsed.kind != "function" or any(each.parsed.errors for each in document.reading.parts):
        return None
    functions = [o for block in part.parsed.blocks for o in block.ops if has_trait(o, FUNCTION)]
    return (part, str(functions[0].sym_name)) if len(functions) == 1 else None  # type: ignore[attr-defined]


def run_pass(document: TextDocument, function: str, name: str) -> lsp.WorkspaceEdit | None:
    """Run a pass on a function, and return the change of the document. Names of values stay; comments inside do not."""
    from ..api import verify
    from ..passes import parse_pipeline, run_pipeline

    fresh = TextDocument(document.uri, document.lines)  # passes change what they run on
    if fresh.reading.errors or verify(fresh.reading.module, max_errors=1):
        return None
    for part in fresh.reading.parts:
        for node in part_nodes(part):
            if node.op is not None and getattr(node.op, "sym_name", None) == function and node.op.nested:
                given = _author_names(part)
                globals_ = [o for p in fresh.reading.parts for b in p.parsed.blocks for o in b.ops if not o.nested]
                module = Module(sym_name="part", body=Block(ops=[*globals_, node.op]))
                run_pipeline(module, parse_pipeline(name))
                margin = " " * part.parsed.tokens.column(node.first)
                text = format_text(_printed(node.op, given)).rstrip("\n").replace("\n", "\n" + margin)
                if not part.parsed.tokens.spelled[node.name].startswith(DIALECT):
                    text = text.removeprefix(DIALECT)
                span = fresh.range(part, node.first, node.end - 1)
                return lsp.WorkspaceEdit({document.uri: [lsp.TextEdit(span, text)]})
    return None


def _author_names(part: PlacedChunk) -> dict[Value, str]:
    toks = part.parsed.tokens.spelled
    names_of(part.parsed)
    return {values[0]: toks[index][1:] for index, values in part.parsed.defined.items() if len(values) == 1}


def _printed(o: Op, names: dict[Value, str]) -> str:
    alive = {value for each in walk(o) for value in [*each.results, *(a for b in each.blocks for a in b.args)]}
    return show_named(o, {value: name for value, name in names.items() if value in alive})
