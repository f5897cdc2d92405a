// The pane of Tile IR: an editor with errors in place, hover, completion, and the selected operation.
"use strict";
(() => {
  const T = globalThis.tilery, V = globalThis.tileryVendor;
  const marks = T.lineMarks();
  let view = null, quiet = false, stale = false, fresh = false;

  const hover = V.hoverTooltip(async (view, at) => {
    if (T.state.exported) return null;
    const found = await T.ask("hover", {...T.document(), at});
    if (!found.ok || !found.markdown) return null;
    return {pos: found.start, end: found.end, above: true, create: () => ({dom: T.markdown(found.markdown)})};
  }, {hoverTime: 350});

  async function complete(context) {
    const before = context.matchBefore(/[%@#!]?[\w$.]*/);
    if (!context.explicit && (!before || before.from === before.to)) return null;
    const found = await T.ask("complete", {text: context.state.doc.toString(), origin: T.state.origin, at: context.pos});
    if (!found.ok || !found.items.length) return null;
    const kinds = {function: "function", variable: "variable", class: "type", keyword: "keyword", enummember: "enum"};
    return {
      from: found.from,
      validFor: /^[%@#!]?[\w$.]*$/,
      options: found.items.map((item, i) => {
        const option = {label: item.label, detail: item.detail, type: kinds[item.kind] || "text", boost: 50 - Math.min(99, i / 5)};
        return item.snippet ? V.snippetCompletion(item.text.replace(/\$(\d)/g, "${$1}"), option) : {...option, apply: item.text};
      }),
    };
  }

  function build() {
    const readOnly = Boolean(T.state.exported);
    const made = T.editor({
      language: "tileir", label: "Tile IR", readOnly,
      extensions: [
        marks.field, V.lintGutter(), hover, V.autocompletion({override: [complete], icons: false}),
        V.EditorView.updateListener.of(update => {
          if (update.docChanged && !quiet) T.edited(update.state.doc.toString());
          if (update.selectionSet && !quiet && !update.docChanged) {
            const head = update.state.selection.main.head, line = update.state.doc.lineAt(head);
            const first = line.from + line.text.length - line.text.trimStart().length;
            T.select(T.opAt(Math.max(head, first)), "ir");
          }
        }),
      ],
    });
    view = made.view;
    T.irView = view;
    return made.host;
  }

  function setText() {
    quiet = true;
    view.dispatch({changes: {from: 0, to: view.state.doc.length, insert: T.state.text || ""}, selection: {anchor: 0}});
    quiet = false;
  }

  function showDiagnostics() {
    const found = T.state.analysis ? T.state.analysis.diagnostics : [];
    const length = view.state.doc.length;
    const all = found.map(d => ({
      from: Math.min(d.start, length), to: Math.min(d.end, length), severity: d.severity, source: d.rule ? `lint: ${d.rule}` : "tilery",
      message: [d.message, ...d.related.map(r => `line ${view.state.doc.lineAt(Math.min(r.at, length)).number}: ${r.message}`)].join("\n"),
    }));
    for (const report of T.reportsInText()) {
      const start = T.state.analysis.ops.start[report.op];
      if (start === undefined || start < 0) continue;
      const line = view.state.doc.lineAt(Math.min(start, length));
      all.push({from: Math.min(start, length), to: line.to, severity: report.hint ? "info" : "error",
        message: [report.message, ...report.details].join("\n"), source: report.check});
    }
    view.dispatch(V.setDiagnostics(view.state, all.sort((a, b) => a.from - b.from)));
  }

  /** The reports of the last run, if the text is still the one that ran. */
  T.reportsInText = () => {
    const {run, runRequest, analysis, text} = T.state;
    if (!run || !analysis || !runRequest || runRequest.text !== text) return [];
    const reports = [...run.reports];
    if (run.error && run.error.op >= 0) {
      reports.push({op: run.error.op, check: "run", hint: false, message: run.error.message, details: run.error.notes || []});
    }
    return reports;
  };

  function showSelection(from) {
    const found = T.state.analysis;
    if (!found || !view) return;
    const {selected, related} = T.state;
    const pairs = [...related].slice(0, 2000).filter(id => found.ops.start[id] >= 0).map(id => [found.ops.start[id], "cm-op-related"]);
    const start = selected >= 0 ? found.ops.start[selected] : -1;
    if (start >= 0) pairs.push([start, "cm-op-selected"]);
    const effects = [marks.effect.of(pairs)];
    if (from !== "ir" && start >= 0 && start <= view.state.doc.length) {
      effects.push(V.EditorView.scrollIntoView(start, {y: "center"}));
      quiet = true;
      view.dispatch({effects, selection: {anchor: start}});
      quiet = false;
    } else view.dispatch({effects});
  }

  /** Begin at the first kernel: compilers of C++ write many globals before it. */
  function showKernel() {
    const {functions, ops} = T.state.analysis;
    const first = functions.find(f => f.kind === "entry");
    const start = first ? ops.start[first.id] : -1;
    if (start < 0 || view.state.doc.lineAt(Math.min(start, view.state.doc.length)).number <= 10) return;
    view.dispatch({effects: V.EditorView.scrollIntoView(start, {y: "start"})});
  }

  T.on("document", () => { setText(); fresh = true; });
  T.on("edited", () => { stale = true; });
  T.on("analysis", () => {
    if (stale) T.select(T.opAt(view.state.selection.main.head), "ir");  // ids have changed
    stale = false;
    showDiagnostics();
    showSelection("ir");
    if (fresh && T.state.selected < 0) showKernel();
    fresh = false;
  });
  T.on("run", showDiagnostics);
  T.on("select", showSelection);
  T.focusEditor = () => { T.show("ir"); view.focus(); };
  T.nextError = () => { T.focusEditor(); V.nextDiagnostic(view); };
  T.pane({id: "ir", title: "Tile IR", side: "left", build});
})();
