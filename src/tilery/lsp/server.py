"""The connection to an editor: documents, debounced diagnostics, and a handler for each request."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from ..diag import TileError
from ..text.lossless.reading import read_steps
from ..text.parse.state import Extensions
from . import actions, completion, describe, navigation, python, tokens
from .diagnostics import diagnostics
from .document import TextDocument, UnitLines

DELAY = (0.005, 0.1)
"""The shortest and the longest pause after a keystroke before a document is checked, in seconds."""
IDLE, BURST = 1.0, 30
"""Garbage is collected after this many seconds without a check, or after so many checks."""
DISASSEMBLE = "tilery.disassemble"
SCHEME = "tileirbc"
"""The scheme of addresses under which the server offers bytecode as text."""


class TileServer(LanguageServer):
    """The server: the documents that are open, and the checks that are under way."""

    def __init__(self, extensions: Extensions | None = None) -> None:
        super().__init__("tilery", sys.modules["tilery"].__version__)
        self.extensions = extensions
        self.documents: dict[str, TextDocument] = {}
        self.checks: dict[str, asyncio.Task[None]] = {}
        self.seconds: dict[str, float] = {}
        """how long the last check of each document took"""
        self.uncollected = 0
        """the checks since garbage was collected"""

    def document(self, uri: str) -> TextDocument:
        """Return the current version of a document."""
        known = self.documents.get(uri)
        if known is not None:
            return known
        text = self._lines(self.workspace.get_text_document(uri).source)
        return TextDocument(uri, text, extensions=self.extensions)

    def open(self, opened: lsp.TextDocumentItem) -> None:
        lines = self._lines(opened.text)
        self.documents[opened.uri] = TextDocument(opened.uri, lines, opened.version, extensions=self.extensions)

    def change(self, params: lsp.DidChangeTextDocumentParams) -> None:
        """Change a document. The workspace of pygls is of no use: its lines end at more characters than an editor's."""
        known = self.document(params.text_document.uri)
        lines = known.lines
        for change in params.content_changes:
            lines = lines.changed(change)
        version = params.text_document.version
        self.documents[known.uri] = TextDocument(known.uri, lines, version, known, self.extensions)

    def _lines(self, text: str) -> UnitLines:
        return UnitLines(text, self.workspace.position_encoding or "utf-16")

    # ------------------------------------------------------------ diagnostics

    def check_soon(self, uri: str) -> None:
        """Check a document after a pause; a check that is under way is given up."""
        if (running := self.checks.pop(uri, None)) is not None:
            running.cancel()
        self.checks[uri] = asyncio.get_running_loop().create_task(self._check(uri))

    async def _check(self, uri: str) -> None:
        low, high = DELAY
        await asyncio.sleep(min(high, max(low, self.seconds.get(uri, 0) / 8)))
        start = time.perf_counter()
        document = self.document(uri)
        steps = read_steps(document.text, previous=document.latest, file=uri, extensions=self.extensions)
        while True:
            try:
                next(steps)
            except StopIteration as done:
                document.set_reading(done.value)
                break
            await asyncio.sleep(0)  # answers requests, and a newer version of the text cancels this check
        found = diagnostics(document)
        self.seconds[uri] = time.perf_counter() - start
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found, document.version))
        await self._collect()

    async def _collect(self) -> None:
        """Collect garbage while no request waits: it takes longer than a check, so it does not happen by itself."""
        self.uncollected += 1
        if self.uncollected < BURST:
            await asyncio.sleep(IDLE)  # the next check cancels this
        self.uncollected = 0
        gc.collect()

    def forget(self, uri: str) -> None:
        if (running := self.checks.pop(uri, None)) is not None:
            running.cancel()
        self.documents.pop(uri, None)
        self.seconds.pop(uri, None)
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))


def is_python(uri: str) -> bool:
    return urlsplit(uri).path.endswith(".py")


def disassembled(uri: str) -> str:
    """Return the text of a file of bytecode, or the errors as comments."""
    from ..api import show
    from ..source.input import Input
    from ..verifier.explain import check_input

    parts = urlsplit(uri)
    path = to_fs_path(parts._replace(scheme="file").geturl()) if parts.scheme == SCHEME else to_fs_path(uri) or uri
    try:
        report = check_input(Input.open(path or uri))
        text = "" if report.module is None else show(report.module)
        errors = report.errors
    except TileError as error:
        text, errors = "", [error]
    except OSError as error:
        return f"// cannot read {path}: {error.strerror}\n"
    comments = "".join(f"// {line}\n" for error in errors for line in error.render().splitlines())
    return comments + text


def make_server(extensions: Extensions | None = None) -> TileServer:
    """Return a server with all its features. The process is its own: garbage is collected when it is idle."""
    gc.disable()
    server = TileServer(extensions)
    _add_documents(server)
    _add_questions(server)
    _add_edits(server)
    _add_commands(server)
    return server


def _add_documents(server: TileServer) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(ls: TileServer, params: lsp.DidOpenTextDocumentParams) -> None:
        if not is_python(params.text_document.uri):
            ls.open(params.text_document)
            ls.check_soon(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(ls: TileServer, params: lsp.DidChangeTextDocumentParams) -> None:
        if not is_python(params.text_document.uri):
            ls.change(params)
            ls.check_soon(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(ls: TileServer, params: lsp.DidCloseTextDocumentParams) -> None:
        ls.forget(params.text_document.uri)


def _add_questions(server: TileServer) -> None:
    """Add the features that answer questions about a position or a document."""

    def at(method: str, answer: Callable[[TextDocument, lsp.Position], Any], options: Any = None) -> None:
        @server.feature(method, options)
        def handler(ls: TileServer, params: Any) -> Any:
            uri = params.text_document.uri
            return None if is_python(uri) else answer(ls.document(uri), params.position)

    def about(method: str, answer: Callable[[TextDocument, Any], Any], options: Any = None) -> None:
        @server.feature(method, options)
        def handler(ls: TileServer, params: Any) -> Any:
            uri = params.text_document.uri
            return None if is_python(uri) else answer(ls.document(uri), params)

    at(lsp.TEXT_DOCUMENT_HOVER, describe.hover)
    at(lsp.TEXT_DOCUMENT_DEFINITION, navigation.definition)
    at(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, navigation.highlights)
    at(lsp.TEXT_DOCUMENT_COMPLETION, completion.completion, lsp.CompletionOptions(completion.TRIGGERS))
    at(lsp.TEXT_DOCUMENT_SIGNATURE_HELP, completion.signature_help, lsp.SignatureHelpOptions([" ", ","]))
    at(lsp.TEXT_DOCUMENT_PREPARE_RENAME, navigation.prepare_rename)
    about(
        lsp.TEXT_DOCUMENT_REFERENCES,
        lambda doc, p: navigation.references(doc, p.position, p.context.include_declaration),
    )
    about(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL, lambda doc, p: navigation.outline(doc))
    about(lsp.TEXT_DOCUMENT_FOLDING_RANGE, lambda doc, p: navigation.folds(doc))
    about(lsp.TEXT_DOCUMENT_INLAY_HINT, lambda doc, p: tokens.inlay_hints(doc, p.range))
    about(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, lambda doc, p: tokens.semantic_tokens(doc), tokens.LEGEND)
    about(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, lambda doc, p: tokens.semantic_tokens(doc, p.range), tokens.LEGEND)


def _add_edits(server: TileServer) -> None:
    """Add the features that change text."""

    @server.feature(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    def rename(ls: TileServer, params: lsp.RenameParams) -> lsp.WorkspaceEdit:
        try:
            return navigation.rename(ls.document(params.text_document.uri), params.position, params.new_name)
        except navigation.CannotRename as error:
            raise JsonRpcInvalidParams(str(error)) from None

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def formatting(ls: TileServer, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
        return actions.formatting(ls.document(params.text_document.uri))

    @server.feature(lsp.TEXT_DOCUMENT_RANGE_FORMATTING)
    def range_formatting(ls: TileServer, params: lsp.DocumentRangeFormattingParams) -> list[lsp.TextEdit]:
        return actions.formatting(ls.document(params.text_document.uri), params.range)

    kinds = [lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.RefactorRewrite]

    @server.feature(lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(kinds, resolve_provider=True))
    def code_action(ls: TileServer, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
        uri = params.text_document.uri
        return [] if is_python(uri) else actions.code_actions(ls.document(uri), params)

    @server.feature(lsp.CODE_ACTION_RESOLVE)
    def resolve(ls: TileServer, action: lsp.CodeAction) -> lsp.CodeAction:
        data = action.data if isinstance(action.data, dict) else {}
        document = ls.document(data["uri"]) if "uri" in data else None
        if document is not None and document.version == data["version"]:
            action.edit = actions.run_pass(document, data["function"], data["pass"])
        return action


def _add_commands(server: TileServer) -> None:
    """Add bytecode as text, and the Tile IR of cuTile kernels."""

    @server.feature(lsp.TEXT_DOCUMENT_CODE_LENS)
    def lens(ls: TileServer, params: lsp.CodeLensParams) -> list[lsp.CodeLens]:
        uri = params.text_document.uri
        return python.lenses(uri, ls.workspace.get_text_document(uri).source) if is_python(uri) else []

    @server.command(python.COMMAND)
    async def show_tile_ir(ls: TileServer, uri: str, kernel: str, signature: str | None = None) -> str:
        return await python.tile_ir(to_fs_path(uri) or uri, kernel, signature)

    @server.command(DISASSEMBLE)
    def disassemble(ls: TileServer, uri: str) -> str:
        return disassembled(uri)

    @server.feature(lsp.WORKSPACE_TEXT_DOCUMENT_CONTENT, lsp.TextDocumentContentRegistrationOptions([SCHEME]))
    def content(ls: TileServer, params: lsp.TextDocumentContentParams) -> lsp.TextDocumentContentResult:
        return lsp.TextDocumentContentResult(disassembled(params.uri))
