// What the page of the explorer uses of other projects, as one object.
import {autocompletion, closeBrackets, completionKeymap, snippetCompletion} from "@codemirror/autocomplete";
import {defaultKeymap, history, historyKeymap} from "@codemirror/commands";
import {cpp} from "@codemirror/lang-cpp";
import {python} from "@codemirror/lang-python";
import {HighlightStyle, StreamLanguage, bracketMatching, syntaxHighlighting} from "@codemirror/language";
import {lintGutter, nextDiagnostic, setDiagnostics} from "@codemirror/lint";
import {highlightSelectionMatches, openSearchPanel, search, searchKeymap} from "@codemirror/search";
import {Compartment, EditorState, StateEffect, StateField} from "@codemirror/state";
import {Decoration, EditorView, drawSelection, highlightActiveLine, highlightActiveLineGutter, hoverTooltip, keymap,
        lineNumbers} from "@codemirror/view";
import dagre from "@dagrejs/dagre";
import {tags} from "@lezer/highlight";

globalThis.tileryVendor = {
  Compartment, Decoration, EditorState, EditorView, HighlightStyle, StateEffect, StateField, StreamLanguage,
  autocompletion, bracketMatching, closeBrackets, completionKeymap, cpp, dagre, defaultKeymap, drawSelection,
  highlightActiveLine, highlightActiveLineGutter, highlightSelectionMatches, history, historyKeymap, hoverTooltip,
  keymap, lineNumbers, lintGutter, nextDiagnostic, openSearchPanel, python, search, searchKeymap, setDiagnostics,
  snippetCompletion, syntaxHighlighting, tags,
};
