// The page: its layout, keys, themes, and how it starts.
"use strict";
(() => {
  const T = globalThis.tilery;
  const KEYS = [
    ["Alt+1 … Alt+9", "show a pane"], ["Alt+↑, Alt+↓", "the operation before, after"], ["[, ]", "the pass before, after (outside editors)"],
    ["F8", "the next error or report"], ["Ctrl+Enter", "run the kernel"], ["Ctrl+Space", "complete"], ["Ctrl+F", "search in an editor"],
    ["↑ ↓ j k", "rows of a list; in the graph: operands and uses"], ["Shift+Alt+F", "lay out the text anew"], ["Esc", "back to the text"], ["?", "this help"],
  ];
  const buttons = new Map();

  T.show = id => {
    const pane = T.panes.find(each => each.id === id);
    if (!pane) return;
    T.currentPane = id;
    for (const each of T.panes) {
      const current = each.id === id;
      each.element.classList.toggle("current", current);
      if (pane.side === "right") each.element.classList.toggle("tab-current", current && each.side === "right");
    }
    markTabs();
    visible();
    for (const each of T.panes) if (each.visible) T.refresh(each);
  };

  /** Mark the tab of the pane that is shown. In two columns the panes on the left have no tab. */
  function markTabs() {
    const hasTab = buttons.get(T.currentPane).offsetParent !== null;
    for (const each of T.panes) {
      const shown = hasTab ? each.id === T.currentPane : each.element.classList.contains("tab-current");
      buttons.get(each.id).classList.toggle("current", shown);
      buttons.get(each.id).setAttribute("aria-selected", String(shown));
    }
  }

  function visible() {
    for (const pane of T.panes) pane.visible = pane.element.offsetParent !== null;
  }

  function build() {
    const app = document.getElementById("app");
    const picker = T.h("select", {class: "picker", "aria-label": "Document", onchange: event => choose(event.target.value)});
    T.on("hello", () => fillPicker(picker));
    const file = T.h("input", {type: "file", class: "hidden", "aria-label": "Open a file", tabindex: "-1", onchange: () => { if (file.files[0]) T.openFile(file.files[0]); }});
    const full = !T.state.exported;
    const header = T.h("header", {},
      T.h("h1", {}, "tilery"), full ? picker : T.h("span", {class: "name"}, T.state.exported.name),
      full ? T.h("button", {type: "button", onclick: () => file.click()}, "Open") : null, file,
      full ? T.h("button", {type: "button", class: "primary", onclick: () => T.run(), title: "Ctrl+Enter"}, "Run") : null,
      full ? T.h("button", {type: "button", onclick: () => T.share()}, "Share") : null,
      full ? T.h("button", {type: "button", onclick: () => T.exportPage()}, "Export") : null,
      T.h("button", {type: "button", onclick: theme, "aria-label": "Dark or light"}, "◐"),
      T.h("button", {type: "button", onclick: help, "aria-label": "Help"}, "?"), T.statusLine);
    const banner = T.h("div", {class: "banner", hidden: true}, "This text comes from a link. Nothing of it runs until you press Run or Compile.",
      T.h("button", {type: "button", onclick: () => { banner.hidden = true; }}, "OK"));
    T.on("document", () => { banner.hidden = !T.state.fromLink; });
    const bar = T.h("nav", {class: "tabs main-tabs", role: "tablist", "aria-label": "Panes"});
    const left = T.h("div", {class: "left"}), right = T.h("div", {class: "right"});
    const order = ["source", "ir", "bytes", "pipeline", "graph", "run", "remarks", "cost", "prove"];
    T.panes.sort((a, b) => order.indexOf(a.id) - order.indexOf(b.id));
    T.panes.forEach((pane, i) => {
      pane.element = T.h("section", {class: `pane pane-${pane.id}`, id: `pane-${pane.id}`, "aria-label": pane.title}, pane.build());
      (pane.side === "left" ? left : right).append(pane.element);
      const button = T.h("button", {type: "button", role: "tab", class: pane.side === "left" ? "narrow-only" : "", title: `Alt+${i + 1}`, onclick: () => T.show(pane.id)}, pane.title);
      buttons.set(pane.id, button);
      bar.append(button);
    });
    bar.addEventListener("keydown", event => {
      const by = {ArrowRight: 1, ArrowLeft: -1}[event.key];
      if (!by) return;
      const shown = T.panes.filter(p => buttons.get(p.id).offsetParent !== null);
      const at = shown.findIndex(p => p.id === T.currentPane);
      const next = shown[(at + by + shown.length) % shown.length];
      T.show(next.id);
      buttons.get(next.id).focus();
      event.preventDefault();
    });
    right.prepend(bar);
    T.replace(app, header, banner, T.h("main", {}, left, right));
    addEventListener("resize", () => { markTabs(); visible(); for (const each of T.panes) if (each.visible) T.refresh(each); });
    app.addEventListener("dragover", event => event.preventDefault());
    app.addEventListener("drop", event => {
      event.preventDefault();
      if (full && event.dataTransfer.files[0]) T.openFile(event.dataTransfer.files[0]);
    });
  }

  function fillPicker(picker) {
    const {files, examples} = T.state.hello;
    T.replace(picker,
      ...files.map((file, i) => T.h("option", {value: `file:${i}`, title: file.name}, file.name.split("/").pop())),
      T.h("optgroup", {label: "Examples"}, ...examples.map(name => T.h("option", {value: `example:${name}`}, name))));
    if (T.state.fromLink) picker.prepend(T.h("option", {value: ""}, T.state.name || "from a link"));
  }

  async function choose(value) {
    const [kind, name] = [value.slice(0, value.indexOf(":")), value.slice(value.indexOf(":") + 1)];
    if (!value) return;
    const picker = document.querySelector(".picker");
    if (picker && picker.value !== value) picker.value = value;
    await opened(await T.ask("open", kind === "file" ? {file: Number(name)} : {example: name}));
  }

  async function opened(found) {
    if (!found.ok) { T.status(found.error.message, true); await T.setDocument("", {}); showError(found.error); return; }
    const isSource = found.text === null;
    const sources = found.sources;
    await T.setDocument(isSource ? "" : found.text, {name: found.name, origin: found.origin, sources});
    if (isSource) T.show("source");
  }
  T.choose = choose;

  function showError(error) { dialog("The file cannot be read", T.problem(error)); }

  // ---------------------------------------------------------------- themes, help

  function theme() {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try { localStorage.setItem("tilery-theme", root.dataset.theme); } catch { /* a page without storage */ }
  }

  function dialog(title, ...content) {
    const made = T.h("dialog", {"aria-label": title}, T.h("h2", {}, title), ...content,
      T.h("form", {method: "dialog"}, T.h("button", {type: "button", class: "primary", onclick: () => made.close()}, "Close")));
    made.addEventListener("close", () => made.remove());
    document.body.append(made);
    made.showModal();
  }
  T.dialog = dialog;

  function help() {
    dialog("Keys", T.h("table", {class: "keys"}, T.h("tbody", {}, ...KEYS.map(([key, what]) => T.h("tr", {}, T.h("td", {}, T.h("kbd", {}, key)), T.h("td", {}, what))))));
  }

  const typing = target => target && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));

  addEventListener("keydown", event => {
    const target = event.composedPath()[0];
    if (event.altKey && !event.ctrlKey && /^Digit[1-9]$/.test(event.code)) {
      const pane = T.panes[Number(event.code.slice(5)) - 1];
      if (pane) { T.show(pane.id); focusPane(pane); }
    } else if (event.altKey && event.shiftKey && event.code === "KeyF") format();
    else if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) T.step(event.key === "ArrowUp" ? -1 : 1);
    else if ((event.ctrlKey || event.metaKey) && event.key === "Enter") T.run();
    else if (event.key === "F8") T.nextError();
    else if (event.key === "Escape" && !document.querySelector("dialog") && !typing(target)) T.focusEditor();
    else if (event.key === "?" && !typing(target)) help();
    else if ((event.key === "[" || event.key === "]") && !typing(target)) T.stepPass(event.key === "[" ? -1 : 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }, true);

  function focusPane(pane) {
    if (pane.id === "ir") { T.focusEditor(); return; }
    const first = pane.element.querySelector(".list, .graph, [role=tab][aria-selected=true], input, select, button");
    if (first) first.focus();
  }

  async function format() {
    if (T.state.exported) return;
    const found = await T.ask("format", T.document());
    if (found.ok && found.text !== T.state.text) T.irView.dispatch({changes: {from: 0, to: T.irView.state.doc.length, insert: found.text}});
  }

  // ---------------------------------------------------------------- start

  async function start() {
    try { const saved = localStorage.getItem("tilery-theme"); if (saved === "dark" || saved === "light") document.documentElement.dataset.theme = saved; } catch { /* a page without storage */ }
    const record = document.getElementById("exported");
    if (record) {
      T.state.exported = JSON.parse(record.textContent);
      T.transport = T.fromRecord(T.state.exported);
    } else if (globalThis.tileryPlayground) T.transport = globalThis.tileryPlayground.transport;
    else T.transport = T.overHttp;
    build();
    T.show("ir");
    T.show("bytes");
    if (globalThis.tileryPlayground) await globalThis.tileryPlayground.started(T);
    // The text is shown before anything else is known.
    const first = record || location.hash.startsWith("#v1=") ? null : T.openFirst();
    const early = first && first.then(found => found.ok && found.text !== null ? opened(found) : null);
    const hello = await T.ask("hello");
    if (!hello.ok) { T.status(hello.error.message, true); return; }
    if (record) Object.assign(hello, {can_run: false, languages: [], remarks: false});
    T.state.hello = hello;
    T.state.passes = hello.default_passes;
    T.emit("hello");
    if (record) await startExported(T.state.exported);
    else if (!await startLink()) await openedFirst(first, early);
    if (innerWidth < 900) T.show("ir");
    document.documentElement.dataset.ready = "1";
  }

  async function openedFirst(first, early) {
    const found = await (first || T.openFirst());
    if (first && found.ok && found.text !== null) await early;
    else await opened(found);
  }

  async function startExported(record) {
    Object.assign(T.state, {passes: record.passes, gpu: record.gpu, grid: record.grid});
    T.emit("hello");
    await T.setDocument(record.text, {name: record.name, sources: record.sources});
    const run = record.responses.run;
    if (run) { T.show("run"); T.showRun(run, {...(run.request || {}), text: record.text}); T.show("bytes"); }
  }

  async function startLink() {
    let data = null;
    try { data = await T.readFragment(location.hash); } catch (error) { T.dialog("The link cannot be read", T.h("p", {}, String(error.message || error))); }
    if (!data) return false;
    if (data.passes) T.state.passes = data.passes;
    if (data.gpu && T.state.hello.gpus.some(g => g.name === data.gpu)) T.state.gpu = data.gpu;
    T.state.savedRun = data.run;
    T.state.fromLink = true;
    T.emit("hello");
    await T.setDocument(data.text || "", {name: data.name, sources: data.sources, fromLink: true});
    if (T.panes.some(p => p.id === data.pane)) T.show(data.pane);
    T.select(data.selected, "link");
    return true;
  }

  addEventListener("hashchange", () => { if (T.state.hello && !T.state.exported) startLink(); });
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
  else start();
})();
