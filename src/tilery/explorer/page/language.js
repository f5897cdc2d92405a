// Colours of Tile IR, the look of editors, and Markdown of hovers.
"use strict";
(() => {
  const T = globalThis.tilery, V = globalThis.tileryVendor;

  const TYPES = /^(?:tile|ptr|token|tensor_view|partition_view|strided_view|gather_scatter_view|[su]?i[0-9]+|index|f[0-9]\w*|bf16|tf32)\b/;

  const tileir = V.StreamLanguage.define({
    name: "tileir",
    startState: () => ({head: true, named: false}),
    token(stream, state) {
      if (stream.sol()) { state.head = true; state.named = false; }
      if (stream.eatSpace()) return null;
      if (stream.match("//")) { stream.skipToEnd(); return "comment"; }
      if (stream.match(/^"(?:[^"\\]|\\.)*"?/)) return "string";
      if (stream.match(/^%[\w$.-]+(?:#\d+)?/)) return "variableName";
      if (stream.match(/^@(?:[\w$.-]+|"(?:[^"\\]|\\.)*")/)) return "className";
      if (stream.match(/^[#!][\w$.-]+/)) return "macroName";
      if (stream.match(/^\^[\w$.-]+/)) return "labelName";
      if (stream.match(/^(?:[0-9]+x|\?x)+(?=[a-z0-9])/)) return "typeName";
      if (stream.match(/^-?(?:0x[0-9a-fA-F]+|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)/)) return "number";
      if (stream.match(TYPES)) return "typeName";
      const word = stream.match(/^[A-Za-z_][\w$.]*/);
      if (word) {
        const operation = state.head;
        state.head = false;
        if (operation) state.named = true;
        return operation ? "keyword" : "propertyName";
      }
      const letter = stream.next();
      if ((letter === "=" && !state.named) || letter === "{") state.head = true;
      return null;
    },
    languageData: {commentTokens: {line: "//"}},
  });

  const t = V.tags;
  const colors = V.HighlightStyle.define([
    {tag: t.comment, color: "var(--comment)"},
    {tag: [t.string, t.special(t.string)], color: "var(--string)"},
    {tag: t.variableName, color: "var(--value)"},
    {tag: [t.className, t.function(t.variableName)], color: "var(--symbol)"},
    {tag: [t.keyword, t.controlKeyword, t.operatorKeyword], color: "var(--operation)"},
    {tag: [t.number, t.bool], color: "var(--number)"},
    {tag: t.typeName, color: "var(--type)"},
    {tag: t.propertyName, color: "var(--word)"},
    {tag: [t.macroName, t.labelName, t.meta], color: "var(--symbol)"},
  ]);

  const look = V.EditorView.theme({
    "&": {height: "100%", fontSize: "13px", backgroundColor: "var(--surface)", color: "var(--text)"},
    ".cm-scroller": {fontFamily: "var(--mono)", lineHeight: "1.5"},
    ".cm-gutters": {backgroundColor: "var(--surface)", color: "var(--faint)", border: "none"},
    ".cm-activeLine": {backgroundColor: "var(--line)"},
    ".cm-activeLineGutter": {backgroundColor: "var(--line)"},
    ".cm-cursor": {borderLeftColor: "var(--text)"},
    "&.cm-focused": {outline: "none"},
    "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground":
      {backgroundColor: "var(--selection)"},
    ".cm-op-selected": {backgroundColor: "var(--chosen)", boxShadow: "inset 3px 0 0 var(--accent)"},
    ".cm-op-related": {backgroundColor: "var(--near)", boxShadow: "inset 3px 0 0 var(--accent2)"},
    ".cm-tooltip": {backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--edge)", maxWidth: "min(640px, 90vw)"},
    ".cm-tooltip-autocomplete > ul > li[aria-selected]": {backgroundColor: "var(--accent)", color: "var(--on-accent)"},
    ".cm-hover": {padding: "6px 10px", maxHeight: "300px", overflow: "auto", fontFamily: "var(--sans)", fontSize: "13px"},
    ".cm-hover pre": {fontFamily: "var(--mono)", margin: "4px 0", whiteSpace: "pre-wrap"},
    ".cm-hover code": {fontFamily: "var(--mono)", color: "var(--operation)"},
    ".cm-hover p": {margin: "4px 0"},
    ".cm-panels": {backgroundColor: "var(--raised)", color: "var(--text)"},
    ".cm-panel input, .cm-panel button": {backgroundColor: "var(--surface)", backgroundImage: "none", color: "var(--text)", border: "1px solid var(--edge)"},
    ".cm-diagnostic": {fontFamily: "var(--mono)", whiteSpace: "pre-wrap"},
    ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": {backgroundColor: "var(--near)"},
  });

  T.languages = {tileir: () => tileir, cutile: () => V.python(), triton: () => V.python(), cpp: () => V.cpp()};

  /** Make an editor in a shadow root, where its styles need no inline style elements. */
  T.editor = ({language, label, extensions = [], readOnly = false}) => {
    const host = T.h("div", {class: "editor"});
    const root = host.attachShadow({mode: "open"});
    const view = new V.EditorView({
      root, parent: root,
      state: V.EditorState.create({doc: "", extensions: [
        V.lineNumbers(), V.drawSelection(), V.highlightActiveLine(), V.highlightActiveLineGutter(), V.bracketMatching(),
        V.history(), V.search({top: true}), V.highlightSelectionMatches(), V.syntaxHighlighting(colors), look,
        V.EditorView.contentAttributes.of({"aria-label": label, spellcheck: "false", autocorrect: "off"}),
        V.EditorState.readOnly.of(readOnly), T.languages[language](),
        ...extensions,
        V.keymap.of([...V.completionKeymap, ...V.defaultKeymap.filter(k => k.key !== "Mod-Enter"), ...V.historyKeymap, ...V.searchKeymap]),
      ]}),
    });
    return {host, view};
  };

  /** Line decorations that other panes set: an effect with [position, class] pairs. */
  T.lineMarks = () => {
    const effect = V.StateEffect.define();
    const field = V.StateField.define({
      create: () => V.Decoration.none,
      update(marks, transaction) {
        marks = marks.map(transaction.changes);
        for (const each of transaction.effects) {
          if (!each.is(effect)) continue;
          const length = transaction.state.doc.length;
          const lines = new Map();
          for (const [at, name] of each.value) {
            const start = transaction.state.doc.lineAt(Math.min(at, length)).from;
            if (!lines.has(start) || name === "cm-op-selected") lines.set(start, name);
          }
          marks = V.Decoration.set([...lines].sort((a, b) => a[0] - b[0])
            .map(([start, name]) => V.Decoration.line({class: name}).range(start)));
        }
        return marks;
      },
      provide: field => V.EditorView.decorations.from(field),
    });
    return {effect, field};
  };

  /** Render the Markdown that hovers use: fences, lists, **bold**, *emphasis* and `code`. */
  T.markdown = text => {
    const out = T.h("div", {class: "cm-hover"});
    let fence = null, list = null;
    for (const line of text.split("\n")) {
      if (line.startsWith("```")) {
        if (fence) { out.append(T.h("pre", {}, fence.join("\n"))); fence = null; } else fence = [];
        list = null;
      } else if (fence) fence.push(line);
      else if (line.startsWith("- ")) {
        if (!list) { list = T.h("ul"); out.append(list); }
        list.append(T.h("li", {}, ...inline(line.slice(2))));
      } else {
        list = null;
        if (line.trim()) out.append(T.h("p", {}, ...inline(line)));
      }
    }
    return out;
  };

  function inline(text) {
    return text.split(/(`[^`]+`|\*\*[^*]+\*\*|\*[^*]+\*)/).map(part => {
      if (part.startsWith("`") && part.length > 2) return T.h("code", {}, part.slice(1, -1));
      if (part.startsWith("**") && part.length > 4) return T.h("strong", {}, part.slice(2, -2));
      if (part.startsWith("*") && part.length > 2) return T.h("em", {}, part.slice(1, -1));
      return part;
    });
  }
})();
