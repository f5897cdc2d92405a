// The page for monaco.py: the editor of VS Code with the TextMate grammar, and what the language server says of a text.
import { shikiToMonaco } from "@shikijs/monaco";
import * as monaco from "monaco-editor";
import { createHighlighterCore } from "shiki/core";
import { createOnigurumaEngine } from "shiki/engine/oniguruma";
import theme from "@shikijs/themes/dark-plus";
import answers from "./answers.json";
import grammar from "./tileir.tmLanguage.json";

const LANGUAGE = "tileir";
const at = ({ start, end }) => ({
  startLineNumber: start.line + 1, startColumn: start.character + 1,
  endLineNumber: end.line + 1, endColumn: end.character + 1,
});

self.MonacoEnvironment = { getWorker: () => new Worker(URL.createObjectURL(new Blob([""]))) };
const highlighter = await createHighlighterCore({
  themes: [theme],
  langs: [{ ...grammar, name: LANGUAGE }],
  engine: createOnigurumaEngine(import("shiki/wasm")),
});
monaco.languages.register({ id: LANGUAGE });
shikiToMonaco(highlighter, monaco);
monaco.languages.registerHoverProvider(LANGUAGE, {
  provideHover: () => ({ contents: [{ value: answers.hover.contents.value }], range: at(answers.hover.range) }),
});
monaco.languages.registerInlayHintsProvider(LANGUAGE, {
  provideInlayHints: () => ({
    hints: answers.hints.map(({ position, label }) => ({
      position: { lineNumber: position.line + 1, column: position.character + 1 }, label,
      kind: monaco.languages.InlayHintKind.Type,
    })),
    dispose() {},
  }),
});

const editor = monaco.editor.create(document.getElementById("editor"), {
  value: answers.text, language: LANGUAGE, theme: "dark-plus", fontFamily: "'DejaVu Sans Mono', monospace", fontSize: 13,
  minimap: { enabled: false }, scrollBeyondLastLine: false, renderLineHighlight: "none", automaticLayout: true,
  hover: { above: false, sticky: true }, stickyScroll: { enabled: false },
});
monaco.editor.setModelMarkers(editor.getModel(), "tilery", answers.diagnostics.map(({ range, message }) => ({
  ...at(range), message, severity: monaco.MarkerSeverity.Error, source: "tilery",
})));
const { line, character } = answers.hover.range.start;
editor.setPosition({ lineNumber: line + 1, column: character + 1 });
editor.focus();
setTimeout(() => editor.getAction("editor.action.showHover").run(), 1000);
