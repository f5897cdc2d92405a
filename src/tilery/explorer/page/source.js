// The pane of sources: cuTile, Triton and C++, linked to operations by lines; compiling happens only on request.
"use strict";
(() => {
  const T = globalThis.tilery, V = globalThis.tileryVendor;
  let editors = [], body = null;

  function lineOf(found, id, name) {
    const place = id >= 0 ? found.ops.place[id] : -1;
    if (place === undefined || place < 0) return [];
    return found.places[place].filter(([file]) => sameFile(found.files[file], name)).map(([, line]) => line);
  }

  const sameFile = (a, b) => a === b || (a && b && a.split("/").pop() === b.split("/").pop());

  const isPython = source => ["cutile", "triton"].includes(source.language);

  function build() {
    body = T.h("div", {class: "sources"});
    return body;
  }

  function showSources() {
    editors = T.state.sources.map(makeSource);
    if (!editors.length) {
      T.replace(body, T.h("p", {class: "hint"}, "This kernel names no source that can be shown. Start `tilery explore` with a .py or .cu file, or with bytecode whose source is below the working directory."));
    } else if (editors.length === 1) T.replace(body, editors[0].element);
    else {
      const tabs = T.tabs("Sources", editors.map((e, i) => [String(i), e.source.name.split("/").pop(), e.element]));
      T.replace(body, tabs.bar, ...editors.map(e => e.element));
    }
    document.documentElement.classList.toggle("has-source", editors.length > 0);
    showSelection("");
  }

  function makeSource(source) {
    const marks = T.lineMarks();
    const language = source.language || "cpp";
    let quiet = false;
    const made = T.editor({
      language, label: `Source ${source.name}`, readOnly: Boolean(T.state.exported) || !source.language,
      extensions: [marks.field, V.EditorView.updateListener.of(update => {
        if (update.docChanged && !quiet) { source.text = update.state.doc.toString(); kernelsSoon(); }
        if (update.selectionSet && !quiet && !update.docChanged) selectLine(update.state.doc.lineAt(update.state.selection.main.head).number);
      })],
    });
    quiet = true;
    made.view.dispatch({changes: {from: 0, insert: source.text}});
    quiet = false;

    function selectLine(line) {
      const found = T.state.analysis;
      if (!found) return;
      const file = found.files.findIndex(name => sameFile(name, source.compiled || source.name));
      const ids = found.byLine.get(`${file}:${line}`) || [];
      const inner = ids.filter(id => found.ops.start[id] >= 0 && found.ops.parent[id] > 0);
      T.select(inner.length ? inner[0] : -1, "source", inner);
    }

    const compile = T.state.exported || !source.language || !T.state.hello || !T.state.hello.languages.includes(source.language)
      ? null : compiler(source, made.view);
    let timer = 0;
    function kernelsSoon() {
      clearTimeout(timer);
      timer = setTimeout(async () => {
        if (!isPython(source)) return;
        const found = await T.ask("kernels", {language: source.language, source: source.text});
        if (found.ok) { source.kernels = found.kernels; if (compile) compile.update(); }
      }, 400);
    }
    const element = T.h("div", {class: "source"}, compile ? compile.element : null, made.host);
    return {source, element, view: made.view, marks};
  }

  /** The line above a source with what is compiled, and the button that compiles it. */
  function compiler(source, view) {
    const kernel = T.h("select", {"aria-label": "Kernel"});
    const signature = T.h("input", {type: "text", "aria-label": source.language === "cpp" ? "Instances of templates" : "Signature",
      placeholder: source.language === "cpp" ? "instances, such as scale<float, 64>; separated by ;" : "arguments, such as f32[1024], 16", class: "wide"});
    const button = T.h("button", {type: "button", class: "primary", onclick: () => compile()},
      isPython(source) ? "Compile (runs this file)" : "Compile");
    const message = T.h("div", {class: "message"});
    const element = T.h("div", {class: "bar"}, isPython(source) ? kernel : null, signature, button, message);
    const update = () => {
      const names = (source.kernels || []).map(k => k.name);
      const before = kernel.value;
      T.replace(kernel, ...names.map(name => T.h("option", {value: name}, name)));
      if (names.includes(before)) kernel.value = before;
      fillSignature();
    };
    const fillSignature = () => {
      const found = (source.kernels || []).find(k => k.name === kernel.value);
      if (found && found.signature && !signature.dataset.edited) signature.value = found.signature;
    };
    kernel.addEventListener("change", fillSignature);
    signature.addEventListener("input", () => { signature.dataset.edited = "1"; });
    async function compile() {
      button.disabled = true;
      T.replace(message, "compiling…");
      const request = {language: source.language, source: source.text, file: source.name};
      if (isPython(source)) Object.assign(request, {kernel: kernel.value, signature: signature.value});
      else request.instances = signature.value.split(";").map(s => s.trim()).filter(Boolean);
      const found = await T.ask("compile", request);
      button.disabled = false;
      if (!found.ok) {
        T.replace(message, T.problem(found.error));
        if (found.error.start !== undefined) {
          const at = Math.min(found.error.start, view.state.doc.length);
          view.dispatch({selection: {anchor: at}, effects: V.EditorView.scrollIntoView(at, {y: "center"})});
        }
        return;
      }
      T.replace(message, ...found.messages.map(text => T.h("div", {class: "note"}, text)));
      source.compiled = found.file;
      await T.setDocument(found.text, {name: source.name, origin: found.origin, launch: found.launch});
    }
    update();
    return {element, update, compile};
  }

  function showSelection(from) {
    const found = T.state.analysis;
    for (const each of editors) {
      const name = each.source.compiled || each.source.name;
      const lines = found ? lineOf(found, T.state.selected, name) : [];
      const doc = each.view.state.doc;
      const pairs = lines.filter(line => line >= 1 && line <= doc.lines)
        .map((line, i) => [doc.line(line).from, i ? "cm-op-related" : "cm-op-selected"]);
      const effects = [each.marks.effect.of(pairs)];
      if (from !== "source" && pairs.length) effects.push(V.EditorView.scrollIntoView(pairs[0][0], {y: "center"}));
      each.view.dispatch({effects});
    }
  }

  T.on("sources", () => { if (body && body.dataset.version !== String(T.state.sources.length) + T.state.sources.map(s => s.name)) {
    body.dataset.version = String(T.state.sources.length) + T.state.sources.map(s => s.name); showSources(); } });
  T.on("hello", () => { if (T.state.sources.length) showSources(); });  // now it is known what can be compiled
  T.on("select", showSelection);
  T.on("analysis", () => showSelection("source"));
  T.pane({id: "source", title: "Source", side: "left", build});
})();
