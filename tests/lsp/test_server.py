"""The language server, driven by a client over stdin and stdout."""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
from collections.abc import Callable, Coroutine, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the language server needs pygls")
pytest.importorskip("pytest_lsp", reason="the tests of the server need pytest-lsp")

from lsprotocol import types as lsp  # only where it is installed
from pytest_lsp import LanguageClient
from pytest_lsp.client import make_test_lsp_client

import tilery
from support.oracle import ROOT
from tilery.lsp.python import tile_ir

TEXT = """// adds
// two things
#hint = "a"
global @table <f32: [1.0, 2.0]> : tile<2xf32>
entry @first(%data: tile<ptr<f32>>, %count: tile<i32>) {
  %one = constant <i32: 1> : tile<i32>
  %half = constant <f32: 0x3F000000> : tile<8xf32>
  %sum = for %i in (%one to %count, step %one) : tile<i32> iter_values(%acc = %half) -> (tile<8xf32>) {
    %next = addf %acc, %half rounding<zero> : tile<8xf32>
    continue %next : tile<8xf32>
  }
  %kept = addi %one, %count : tile<i32>
  return
}
entry @second() {
  %one = iota : tile<8xi32>
  return
}
"""
URI = "file:///kernel.mlir"


class Session:
    """A client with one open document."""

    versions = 0

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self.text = ""

    async def open(self, text: str, uri: str = URI, language: str = "tileir") -> None:
        if Session.versions:
            self.client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(URI)))
        Session.versions += 1
        self.text = text
        item = lsp.TextDocumentItem(uri, language, Session.versions, text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))

    def change(self, text: str) -> None:
        """Replace the first place where the text differs, as an editor does."""
        Session.versions += 1
        same = next((i for i, (a, b) in enumerate(zip(self.text, text)) if a != b), min(len(self.text), len(text)))
        start = self.position_of(same)
        end = self.position_of(len(self.text))
        change = lsp.TextDocumentContentChangePartial(lsp.Range(start, end), text[same:])
        self.client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(lsp.VersionedTextDocumentIdentifier(Session.versions, URI), [change])
        )
        self.text = text

    def position_of(self, offset: int) -> lsp.Position:
        before = self.text[:offset]
        return lsp.Position(before.count("\n"), len(before) - before.rfind("\n") - 1)

    def at(self, marked: str) -> dict[str, Any]:
        """The position of `|` in a piece of the text."""
        piece = marked.replace("|", "", 1)
        assert self.text.count(piece) == 1, f"{piece!r} occurs {self.text.count(piece)} times"
        offset = self.text.index(piece) + marked.index("|")
        return {"text_document": lsp.TextDocumentIdentifier(URI), "position": self.position_of(offset)}

    async def diagnostics(self, source: str = "tilery") -> list[lsp.Diagnostic]:
        """Wait for those of the current version."""
        while Session.versions not in self.checked:
            await self.client.wait_for_notification(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        return [found for found in self.client.diagnostics[URI] if found.source == source]

    @property
    def checked(self) -> list[int]:
        """The versions that diagnostics came for."""
        found: list[int] = self.client.versions.get(URI, [])  # type: ignore[attr-defined]
        return found

    def whole(self) -> lsp.Range:
        return lsp.Range(lsp.Position(0, 0), self.position_of(len(self.text)))

    def applied(self, edits: Any) -> str:
        """The text after some edits."""
        text = self.text
        for edit in sorted(edits, key=lambda e: (e.range.start.line, e.range.start.character), reverse=True):
            start, end = self.offset(edit.range.start), self.offset(edit.range.end)
            text = text[:start] + edit.new_text + text[end:]
        return text

    def offset(self, position: lsp.Position) -> int:
        lines = self.text.split("\n")
        return sum(len(line) + 1 for line in lines[: position.line]) + position.character


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


@pytest.fixture(scope="module")
def client(loop: asyncio.AbstractEventLoop) -> Iterator[LanguageClient]:
    """A client with a server of its own, which all tests share."""
    made = make_test_lsp_client()
    made.versions = {}  # type: ignore[attr-defined]  # those that diagnostics came for
    made.protocol.fm.features.pop(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)

    @made.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]  # pygls
    def published(ls: LanguageClient, params: lsp.PublishDiagnosticsParams) -> None:
        made.diagnostics[params.uri] = params.diagnostics
        made.versions.setdefault(params.uri, []).append(params.version)  # type: ignore[attr-defined]

    async def start() -> None:
        env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
        await made.start_io(sys.executable, "-m", "tilery", "lsp", env=env)
        await made.initialize_session(lsp.InitializeParams(capabilities=lsp.ClientCapabilities()))

    loop.run_until_complete(start())
    yield made
    loop.run_until_complete(made.shutdown_session())


@pytest.fixture
def session(client: LanguageClient) -> Session:
    return Session(client)


def served(test: Callable[..., Coroutine[Any, Any, None]]) -> Any:
    """Run a test in the loop of the client."""

    @wraps(test)
    def run(loop: asyncio.AbstractEventLoop, **given: Any) -> None:
        loop.run_until_complete(asyncio.wait_for(test(**given), 60))

    signature = inspect.signature(test)
    own = inspect.Parameter("loop", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    run.__signature__ = signature.replace(parameters=[own, *signature.parameters.values()])  # type: ignore[attr-defined]
    return run


@served
async def test_diagnostics_follow_the_text(session: Session) -> None:
    await session.open(TEXT)
    assert await session.diagnostics() == []
    session.change(TEXT.replace("addf %acc", "adf %acc").replace("iota : tile<8xi32>", "iota : tile<8xf32>"))
    found = await session.diagnostics()
    assert [(d.range.start.line, d.message.partition(" (")[0].partition(",")[0]) for d in found] == [
        (8, "custom op 'adf' is unknown"),
        (15, "'cuda_tile.iota' op result #0 must be tile of i1 or i8 or i16 or i32 or i64 values"),
    ]
    session.change(TEXT)
    assert await session.diagnostics() == []


@served
async def test_diagnostics_warn_of_hints(session: Session) -> None:
    await session.open("entry @k() optimization_hints=<sm_1 = {}> {\n}\n")
    found = await session.diagnostics()
    assert [(d.severity, d.message) for d in found] == [(lsp.DiagnosticSeverity.Warning, "unknown hint key sm_1")]


@served
async def test_an_error_is_shown_at_the_operand(session: Session) -> None:
    await session.open(
        "entry @k(%p: tile<ptr<f32>>) {\n  %t = offset %p, %p : tile<ptr<f32>>, tile<ptr<f32>> -> tile<ptr<f32>>\n}\n"
    )
    found = await session.diagnostics()
    assert [(d.range.start.line, d.range.start.character) for d in found] == [(1, 18)]


LINTED = """entry @k(%p: tile<ptr<f32>>, %x: tile<f32>) {
  %t = store_ptr_tko weak %p, %x : tile<ptr<f32>>, tile<f32> -> token
  %v, %u = load_ptr_tko weak %p : tile<ptr<f32>> -> tile<f32>, token
  print_tko "%f", %v : tile<f32> -> token
  return
}
"""


@served
async def test_findings_of_the_linter_are_diagnostics(session: Session) -> None:
    await session.open(LINTED)
    (found,) = await session.diagnostics("tilery lint")
    assert (found.code, found.severity, found.range.start.line) == ("missing-token", lsp.DiagnosticSeverity.Error, 2)
    assert [info.location.range.start.line for info in found.related_information or []] == [1]
    session.change(LINTED.replace("weak %p :", "wek %p :"))
    assert await session.diagnostics("tilery lint") == []
    assert len(await session.diagnostics()) == 1


@served
async def test_code_actions_fix_findings_and_suppress_them(session: Session) -> None:
    await session.open(LINTED)
    fix, ignore = (await actions_at(session, 2, await session.diagnostics("tilery lint")))[:2]
    assert fix.title == "Wait for the store_ptr_tko"
    assert ignore.title == "Ignore missing-token on this line"
    assert "load_ptr_tko weak %p token=%t :" in changed(session, fix)
    assert "token  // lint: ignore[missing-token]\n" in changed(session, ignore)
    for action in (fix, ignore):
        session.change(changed(session, action))
        assert await session.diagnostics("tilery lint") == []
        session.change(LINTED)


@served
async def test_keystrokes_in_a_row_are_checked_once(session: Session) -> None:
    await session.open(TEXT)
    await session.diagnostics()
    first = Session.versions
    for number in range(20):
        session.change(TEXT + "//" + "x" * number)
    assert await session.diagnostics() == []
    assert len([version for version in session.checked if version and version > first]) < 20


@served
async def test_hover(session: Session) -> None:
    await session.open(TEXT)

    async def shown(marked: str) -> str:
        found = await session.client.text_document_hover_async(lsp.HoverParams(**session.at(marked)))
        assert found is not None and isinstance(found.contents, lsp.MarkupContent)
        return found.contents.value

    operation = await shown("%next = ad|df")
    assert "Since bytecode 13.1" in operation and "rounding" in operation and "```tileir" in operation
    value = await shown("%acc = %ha|lf")
    assert "tile<8xf32>" in value and "all elements: 5.000000e-01 (0x3F000000)" in value
    assert "`lhs` of `addi`" in await shown("addi %o|ne")
    assert "8 elements, 32 bytes" in await shown("%next : tile<8|xf32>")
    assert "rounding" in await shown("rounding<ze|ro>")
    assert "entry @first(tile<ptr<f32>>, tile<i32>)" in await shown("entry @fir|st")
    assert '#hint = "a"' in await shown("#hi|nt")
    nothing = await session.client.text_document_hover_async(lsp.HoverParams(**session.at("  return\n|}\nentry")))
    assert nothing is None


@served
async def test_definition_and_references(session: Session) -> None:
    await session.open(TEXT)

    async def lines(marked: str) -> list[int]:
        params = lsp.ReferenceParams(lsp.ReferenceContext(True), **session.at(marked))
        found = await session.client.text_document_references_async(params)
        return [each.range.start.line for each in found or []]

    definition = await session.client.text_document_definition_async(lsp.DefinitionParams(**session.at("addf %a|cc")))
    assert isinstance(definition, lsp.Location)
    assert definition.range == lsp.Range(lsp.Position(7, 71), lsp.Position(7, 75))
    assert await lines("%one| = constant") == [5, 7, 7, 11]
    assert await lines("%one| = iota") == [15]
    assert await lines("@tab|le") == [3]
    without = lsp.ReferenceParams(lsp.ReferenceContext(False), **session.at("%ha|lf = constant"))
    assert len(await session.client.text_document_references_async(without) or []) == 2
    highlights = await session.client.text_document_document_highlight_async(
        lsp.DocumentHighlightParams(**session.at("%ne|xt = addf"))
    )
    assert [h.range.start.line for h in highlights or []] == [8, 9]


@served
async def test_rename(session: Session) -> None:
    await session.open(TEXT)
    place = session.at("%o|ne = constant")
    prepared = await session.client.text_document_prepare_rename_async(lsp.PrepareRenameParams(**place))
    assert prepared is not None
    edit = await session.client.text_document_rename_async(lsp.RenameParams(new_name="step", **place))
    assert edit is not None and edit.changes is not None
    new = session.applied(edit.changes[URI])
    assert new.count("%step") == 4 and new.count("%one") == 1
    assert tilery.equal(tilery.parse(new), tilery.parse(TEXT))
    for name in ("half", "no good", "%%x"):
        with pytest.raises(Exception, match=r"already defined|cannot be the name"):
            await session.client.text_document_rename_async(lsp.RenameParams(new_name=name, **place))


@served
async def test_completion(session: Session) -> None:
    draft = TEXT.replace("  %kept", "  %new = addi %one, %\n  %kept").replace("rounding<zero>", "ro")
    await session.open(draft)

    async def labels(marked: str) -> list[str]:
        params = lsp.CompletionParams(**session.at(marked))
        found = await session.client.text_document_completion_async(params)
        assert isinstance(found, lsp.CompletionList)
        return [item.label for item in found.items]

    values = await labels("addi %one, %|\n")
    assert set(values) == {"%one", "%count"}  # in scope, and of the type of the other operand
    words = await labels("%half ro|")
    assert "rounding" in words and "flush_to_zero" in words and "nearest_even" in words
    assert {"addf", "iota", "return"} <= set(await labels("  ret|urn\n}\nentry"))
    assert "addf" in await labels("%kept = ad|di")
    types = await labels("%count : ti|le<i32>\n  return")
    assert "tile<8xf32>" in types and "f16" in types
    assert await labels("entry @sec|ond") == ["@first", "@second", "@table"]


@served
async def test_signature_help(session: Session) -> None:
    await session.open(TEXT)
    found = await session.client.text_document_signature_help_async(
        lsp.SignatureHelpParams(**session.at("addi %one, |%count"))
    )
    assert found is not None
    info = found.signatures[0]
    assert info.label.startswith("addi %lhs, %rhs")
    assert found.active_parameter == 1
    assert info.parameters is not None and isinstance(info.parameters[1].label, tuple | list)
    start, end = info.parameters[1].label
    assert info.label[start:end] == "%rhs"


@served
async def test_inlay_types(session: Session) -> None:
    await session.open(TEXT)
    params = lsp.InlayHintParams(lsp.TextDocumentIdentifier(URI), session.whole())
    hints = await session.client.text_document_inlay_hint_async(params) or []
    shown = [(h.position.line, h.label) for h in hints]
    assert (7, ": tile<8xf32>") in shown and (7, ": tile<i32>") in shown and (11, ": tile<i32>") in shown
    assert not [label for line, label in shown if line == 4]  # the text says the types of parameters


@served
async def test_semantic_tokens(session: Session) -> None:
    await session.open(TEXT)
    identifier = lsp.TextDocumentIdentifier(URI)
    found = await session.client.text_document_semantic_tokens_full_async(lsp.SemanticTokensParams(identifier))
    legend = ("function", "variable", "parameter", "class", "macro", "label", "type", "keyword", "enumMember",
              "number", "string", "comment")  # fmt: skip
    assert found is not None
    shown: dict[str, set[str]] = {}
    row = column = 0
    lines = TEXT.split("\n")
    for at in range(0, len(found.data), 5):
        down, right, length, kind, _ = found.data[at : at + 5]
        row, column = row + down, right if down else column + right
        shown.setdefault(legend[kind], set()).add(lines[row][column : column + length])
    assert {"addf", "entry", "for", "continue", "return"} <= shown["function"]
    assert {"%acc", "%i", "%data", "%count"} == shown["parameter"]
    assert {"%one", "%half", "%next", "%sum", "%kept"} == shown["variable"]
    assert {"@first", "@second", "@table"} == shown["class"]
    assert {"// adds", "// two things"} == shown["comment"]
    assert "zero" in shown["enumMember"] and "tile<8xf32>" in shown["type"] and "rounding" in shown["keyword"]
    part = await session.client.text_document_semantic_tokens_range_async(
        lsp.SemanticTokensRangeParams(identifier, lsp.Range(lsp.Position(15, 0), lsp.Position(16, 0)))
    )
    assert part is not None and 0 < len(part.data) < len(found.data)


@served
async def test_folding_and_outline(session: Session) -> None:
    await session.open(TEXT)
    identifier = lsp.TextDocumentIdentifier(URI)
    folds = await session.client.text_document_folding_range_async(lsp.FoldingRangeParams(identifier)) or []
    assert {(f.start_line, f.end_line) for f in folds} == {(0, 1), (4, 12), (7, 9), (14, 16)}
    symbols = await session.client.text_document_document_symbol_async(lsp.DocumentSymbolParams(identifier)) or []
    assert [s.name for s in symbols] == ["@table", "@first", "@second"]
    assert isinstance(symbols[1], lsp.DocumentSymbol)
    assert [child.name for child in symbols[1].children or []] == ["%sum"]


@served
async def test_formatting(session: Session) -> None:
    messy = TEXT.replace("  %kept = addi %one, %count", "      %kept=addi %one,%count").replace("  return", " return")
    await session.open(messy)
    identifier, options = lsp.TextDocumentIdentifier(URI), lsp.FormattingOptions(2, True)
    edits = await session.client.text_document_formatting_async(lsp.DocumentFormattingParams(identifier, options))
    assert session.applied(edits or []) == TEXT
    some = lsp.DocumentRangeFormattingParams(identifier, lsp.Range(lsp.Position(11, 0), lsp.Position(11, 4)), options)
    edits = await session.client.text_document_range_formatting_async(some)
    assert session.applied(edits or []) == TEXT.replace("  return", " return")


async def actions_at(session: Session, line: int, diagnostics: list[lsp.Diagnostic]) -> list[lsp.CodeAction]:
    where = lsp.Range(lsp.Position(line, 3), lsp.Position(line, 3))
    params = lsp.CodeActionParams(lsp.TextDocumentIdentifier(URI), where, lsp.CodeActionContext(diagnostics))
    found = await session.client.text_document_code_action_async(params) or []
    return [each for each in found if isinstance(each, lsp.CodeAction)]


def changed(session: Session, action: lsp.CodeAction) -> str:
    assert action.edit is not None and action.edit.changes is not None
    return session.applied(action.edit.changes[URI])


@served
async def test_did_you_mean(session: Session) -> None:
    await session.open(TEXT.replace("addf %acc", "adff %acc").replace("rounding<zero>", "rounding<zer>"))
    action = (await actions_at(session, 8, await session.diagnostics()))[0]
    assert action.title == "Replace 'adff' by 'addf'"
    assert "%next = addf %acc" in changed(session, action)


@served
async def test_add_a_missing_terminator(session: Session) -> None:
    text = """entry @k() {
  %x = iota : tile<8xi32>
  %0 = reduce %x dim=0 identities=[0 : i32] : tile<8xi32> -> tile<i32>
  (%a: tile<i32>, %b: tile<i32>) {
    %s = addi %a, %b : tile<i32>
  }
  return
}
"""
    await session.open(text)
    found = await session.diagnostics()
    assert [d.message.partition(",")[0] for d in found] == ["block with no terminator"]
    fixes = [a for a in await actions_at(session, 4, found) if a.kind == lsp.CodeActionKind.QuickFix]
    new = changed(session, fixes[0])
    assert "    %s = addi %a, %b : tile<i32>\n    yield %s : tile<i32>\n  }" in new
    assert tilery.parse(new)


@served
async def test_add_a_missing_brace(session: Session) -> None:
    await session.open(TEXT.replace("    continue %next : tile<8xf32>\n  }\n", "    continue %next : tile<8xf32>\n"))
    found = await session.diagnostics()
    fixes = [a for a in await actions_at(session, 7, found) if a.title == "Add the missing '}'"]
    assert tilery.parse(changed(session, fixes[0]))


@served
async def test_run_canonicalize_on_a_function(session: Session) -> None:
    await session.open(TEXT)
    found = [a for a in await actions_at(session, 8, []) if "canonicalize" in a.title]
    assert [a.title for a in found] == ["Run canonicalize on @first"]
    resolved = await session.client.code_action_resolve_async(found[0])
    new = changed(session, resolved)
    assert "%kept" not in new and "%half" in new and "entry @second() {\n  %one = iota" in new
    assert tilery.parse(new)


@served
async def test_bytecode_is_opened_as_text(session: Session, tmp_path: Path) -> None:
    path = tmp_path / "k.tileirbc"
    path.write_bytes(tilery.dumps(tilery.parse(TEXT)))
    text = await session.client.workspace_execute_command_async(
        lsp.ExecuteCommandParams("tilery.disassemble", arguments=[path.as_uri()])
    )
    assert text == tilery.show(tilery.load(path))
    content = await session.client.workspace_text_document_content_async(
        lsp.TextDocumentContentParams(path.as_uri().replace("file:", "tileirbc:"))
    )
    assert content.text == text
    path.write_bytes(path.read_bytes()[:-9])
    broken = await session.client.workspace_execute_command_async(
        lsp.ExecuteCommandParams("tilery.disassemble", arguments=[path.as_uri()])
    )
    assert str(broken).startswith("// ") and "error" in str(broken)


PYTHON = """import cuda.tile as ct

# tilery: f32[64], f32[64], 16
@ct.kernel
def copy(a, b, size: ct.Constant[int]):
    block = ct.bid(0)
    ct.store(b, index=(block,), tile=ct.load(a, index=(block,), shape=(size,)))

@ct.kernel
def other(a):
    pass
"""


def test_the_child_of_a_lens_imports_nothing_from_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "argparse.py").write_text("open('ran', 'w')\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    assert "missing.py" in asyncio.run(tile_ir("/missing.py", "k", "f32[8]"))
    assert not (tmp_path / "ran").exists()


@served
async def test_a_lens_shows_the_tile_ir_of_a_kernel(session: Session, tmp_path: Path) -> None:
    pytest.importorskip("cuda.tile", reason="cuTile is not installed")
    path = tmp_path / "copy.py"
    path.write_text(PYTHON)
    await session.open(PYTHON, path.as_uri(), "python")
    lenses = await session.client.text_document_code_lens_async(
        lsp.CodeLensParams(lsp.TextDocumentIdentifier(path.as_uri()))
    )
    commands = [lens.command for lens in lenses or []]
    assert [c.title for c in commands if c] == ["Show Tile IR for (f32[64], f32[64], 16)", "Show Tile IR"]
    shown = []
    for command in commands:
        assert command is not None
        params = lsp.ExecuteCommandParams(command.command, arguments=command.arguments)
        shown.append(str(await session.client.workspace_execute_command_async(params)))
    assert "entry @copy" in shown[0] and "load_view_tko" in shown[0] and "ct.load(a" in shown[0]
    assert "# tilery:" in shown[1]
