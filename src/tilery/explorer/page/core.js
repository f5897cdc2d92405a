// State, events, transports and small parts of the page. All text becomes text nodes; no string is parsed as HTML.
"use strict";
(() => {
  const T = globalThis.tilery = {};
  const SVG = "http://www.w3.org/2000/svg";

  T.state = {
    name: "", text: "", origin: "", sources: [], hello: null, analysis: null, selected: -1, related: new Set(),
    fromLink: false, exported: null, passes: "", gpu: "B200", grid: [1], run: null, runRequest: null, version: 0,
  };

  // ---------------------------------------------------------------- elements

  function fill(element, properties, children) {
    for (const [name, value] of Object.entries(properties || {})) {
      if (name === "class") element.setAttribute("class", value);
      else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (name === "value" || name === "checked" || name === "disabled" || name === "hidden") element[name] = value;
      else if (value !== undefined && value !== null && value !== false) element.setAttribute(name, String(value));
    }
    for (const child of children.flat()) {
      if (child !== null && child !== undefined && child !== false) element.append(child);
    }
    return element;
  }

  T.h = (tag, properties, ...children) => fill(document.createElement(tag), properties, children);
  T.s = (tag, properties, ...children) => fill(document.createElementNS(SVG, tag), properties, children);
  T.replace = (element, ...children) => element.replaceChildren(...children.flat().filter(child => child || child === 0));

  // ---------------------------------------------------------------- events

  const listeners = new Map();
  T.on = (name, listener) => {
    if (!listeners.has(name)) listeners.set(name, []);
    listeners.get(name).push(listener);
  };
  T.emit = (name, detail) => {
    for (const listener of listeners.get(name) || []) listener(detail);
  };

  // ---------------------------------------------------------------- requests

  T.transport = async () => ({ok: false, error: {message: "the page has not started", notes: []}});
  T.ask = async (what, fields = {}) => {
    try {
      return await T.transport({do: what, ...fields});
    } catch (error) {
      return {ok: false, error: {message: `no answer: ${error.message || error}`, notes: []}};
    }
  };
  T.document = () => ({text: T.state.text, origin: T.state.origin});

  T.overHttp = async request => {
    const response = await fetch("/api", {
      method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(request), credentials: "same-origin",
    });
    if (!response.ok) throw new Error((await response.text()).trim() || `status ${response.status}`);
    return response.json();
  };

  /** The document to start with. A server's page asks for it before its other scripts are there. */
  const early = document.currentScript && document.currentScript.dataset.first !== undefined && !location.hash.startsWith("#v1=");
  const firstText = early ? T.overHttp({do: "open", first: true}).catch(() => null) : null;
  T.openFirst = async () => await firstText || T.ask("open", {first: true});

  /** Answer from an exported file: everything was asked before. */
  T.fromRecord = record => async request => {
    if (request.do === "graph") {
      const found = record.graphs[request.function];
      if (found) return found;
    }
    const found = record.responses[request.do];
    if (found) return found;
    return {ok: false, error: {message: "an exported page cannot do this", notes: ["open the kernel with `tilery explore`"]}};
  };

  // ---------------------------------------------------------------- the document

  T.setDocument = (text, {name = "", origin = "", sources = null, fromLink = false, launch = null} = {}) => {
    Object.assign(T.state, {text, name, origin, fromLink, selected: -1, related: new Set(), analysis: null, run: null,
      runRequest: null, launch});
    if (sources !== null) T.state.sources = sources;
    T.state.version++;
    T.emit("document");
    T.emit("sources");
    return T.analyse();
  };

  T.edited = text => {
    T.state.text = text;
    T.state.version++;
    T.emit("edited");
    T.analyseSoon();
  };

  let timer = 0;
  T.analyseSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(T.analyse, 200);
  };

  T.plural = (count, what) => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;

  /** How many operations, or errors; a legal text may have findings of the linter. */
  function summary({legal, ops, diagnostics}) {
    if (!T.state.text.trim()) return T.state.sources.length ? "not compiled yet" : "no text";
    if (!legal) return T.plural(diagnostics.filter(d => d.severity === "error").length, "error");
    const findings = diagnostics.length ? `, ${T.plural(diagnostics.length, "finding")}` : "";
    return `${T.plural(ops.name.length - 1, "operation")}, legal${findings}`;
  }

  T.analyse = async () => {
    const version = T.state.version;
    if (T.state.text === null) return;
    T.status("reading…");
    const found = await T.ask("analyse", T.document());
    if (version !== T.state.version) return;
    if (!found.ok) {
      T.status(found.error.message, true);
      return;
    }
    T.state.analysis = found;
    T.index(found);
    T.status(summary(found), found.diagnostics.some(d => d.severity === "error"));
    T.emit("analysis");
  };

  /** Add to an analysis what finds operations by offset and by source line. */
  T.index = found => {
    const ops = found.ops;
    found.order = ops.start.map((start, id) => id).filter(id => ops.start[id] >= 0).sort((a, b) => ops.start[a] - ops.start[b]);
    found.byLine = new Map();
    ops.place.forEach((place, id) => {
      if (place < 0) return;
      for (const [file, line] of found.places[place]) {
        const key = `${file}:${line}`;
        if (!found.byLine.has(key)) found.byLine.set(key, []);
        found.byLine.get(key).push(id);
      }
    });
  };

  T.opName = id => {
    const found = T.state.analysis;
    return found && id >= 0 && id < found.ops.name.length ? found.ops.names[found.ops.name[id]] : "";
  };

  /** The innermost operation at an offset of the text, or -1. */
  T.opAt = offset => {
    const found = T.state.analysis;
    if (!found) return -1;
    let low = 0, high = found.order.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (found.ops.start[found.order[middle]] <= offset) low = middle + 1;
      else high = middle;
    }
    let id = low ? found.order[low - 1] : -1;
    while (id > 0 && found.ops.end[id] >= 0 && found.ops.end[id] < offset) id = found.ops.parent[id];
    return id > 0 ? id : -1;
  };

  // ---------------------------------------------------------------- selection

  T.select = (id, from = "", related = []) => {
    const state = T.state;
    const same = state.selected === id && related.length === state.related.size && related.every(r => state.related.has(r));
    if (same && from !== "force") return;
    state.selected = id;
    state.related = new Set(related);
    T.emit("select", from);
  };

  /** Select the operation before or after the selected one. */
  T.step = by => {
    const found = T.state.analysis;
    if (!found || !found.order.length) return;
    const at = found.order.indexOf(T.state.selected);
    const next = at < 0 ? 0 : Math.max(0, Math.min(found.order.length - 1, at + by));
    T.select(found.order[next], "step");
  };

  // ---------------------------------------------------------------- panes

  T.panes = [];
  /** Declare a pane: `build` returns its element, `show` is called when it is visible and something has changed. */
  T.pane = pane => T.panes.push({dirty: true, visible: false, ...pane});
  T.touch = id => {
    const pane = T.panes.find(each => each.id === id);
    if (!pane) return;
    pane.dirty = true;
    if (pane.visible) T.refresh(pane);
  };
  T.refresh = pane => {
    if (!pane.dirty && pane.shown) pane.shown();
    if (!pane.dirty || !pane.show) return;
    pane.dirty = false;
    pane.show();
  };

  const statusText = T.h("button", {type: "button", class: "link", title: "the next error or finding (F8)", onclick: () => T.nextError()});
  T.statusLine = T.h("span", {class: "status", role: "status"}, statusText);
  T.status = (text, bad = false) => {
    statusText.textContent = text;
    T.statusLine.classList.toggle("bad", bad);
  };

  T.problem = error => T.h("div", {class: "problem", role: "alert"},
    T.h("strong", {}, error.message),
    ...(error.notes || []).map(note => T.h("div", {class: "note"}, note)),
    error.line ? T.h("div", {class: "note"}, `line ${error.line}`) : null);

  // ---------------------------------------------------------------- long lists

  /** A list whose rows exist only while they are visible. `row(i)` returns an element. */
  T.List = class {
    constructor({row, height = 20, label, activate}) {
      this.row = row;
      this.height = height;
      this.activate = activate;
      this.count = 0;
      this.active = -1;
      this.inside = T.h("div", {class: "list-inside"});
      this.element = T.h("div", {class: "list", tabindex: "0", role: "listbox", "aria-label": label}, this.inside);
      this.element.addEventListener("scroll", () => this.draw(), {passive: true});
      this.element.addEventListener("keydown", event => this.key(event));
      this.element.addEventListener("click", event => {
        const found = event.target.closest("[data-row]");
        if (found) this.go(Number(found.dataset.row));
      });
      new ResizeObserver(() => this.draw()).observe(this.element);
    }

    set(count) {
      this.count = count;
      this.active = Math.min(this.active, count - 1);
      this.inside.style.height = `${count * this.height}px`;
      this.draw();
    }

    draw() {
      const top = Math.max(0, Math.floor(this.element.scrollTop / this.height) - 5);
      const many = Math.ceil(this.element.clientHeight / this.height) + 10;
      const rows = [];
      for (let i = top; i < Math.min(this.count, top + many); i++) {
        const row = this.row(i);
        row.dataset.row = String(i);
        row.style.top = `${i * this.height}px`;
        row.style.height = `${this.height}px`;
        row.setAttribute("role", "option");
        if (i === this.active) row.classList.add("active");
        rows.push(row);
      }
      this.inside.replaceChildren(...rows);
    }

    go(i, quiet = false) {
      if (i < 0 || i >= this.count) return;
      this.active = i;
      this.reveal(i);
      this.draw();
      if (!quiet && this.activate) this.activate(i);
    }

    reveal(i) {
      const top = i * this.height, view = this.element;
      if (top < view.scrollTop) view.scrollTop = Math.max(0, top - 3 * this.height);
      else if (top + this.height > view.scrollTop + view.clientHeight) {
        view.scrollTop = top - view.clientHeight + 4 * this.height;
      }
    }

    key(event) {
      const page = Math.max(1, Math.floor(this.element.clientHeight / this.height) - 1);
      const by = {ArrowDown: 1, ArrowUp: -1, j: 1, k: -1, PageDown: page, PageUp: -page}[event.key];
      if (by !== undefined && !event.ctrlKey && !event.altKey && !event.metaKey) {
        this.go(Math.max(0, Math.min(this.count - 1, (this.active < 0 ? -Math.sign(by) * (by < 0 ? 0 : 1) : this.active) + by)));
      } else if (event.key === "Home") this.go(0);
      else if (event.key === "End") this.go(this.count - 1);
      else return;
      event.preventDefault();
    }
  };

  /** Tabs over panels: `items` are [id, title, element]. */
  T.tabs = (label, items, shown = () => {}) => {
    const bar = T.h("div", {class: "tabs", role: "tablist", "aria-label": label});
    const buttons = items.map(([id, title, panel]) => {
      panel.setAttribute("role", "tabpanel");
      return T.h("button", {type: "button", role: "tab", "data-tab": id, onclick: () => show(id)}, title);
    });
    const show = id => {
      items.forEach(([each, , panel], i) => {
        panel.hidden = each !== id;
        buttons[i].setAttribute("aria-selected", String(each === id));
        buttons[i].tabIndex = each === id ? 0 : -1;
      });
      bar.dataset.current = id;
      shown(id);
    };
    bar.addEventListener("keydown", event => {
      const by = {ArrowRight: 1, ArrowLeft: -1}[event.key];
      if (!by) return;
      const at = items.findIndex(([id]) => id === bar.dataset.current);
      const next = (at + by + items.length) % items.length;
      show(items[next][0]);
      buttons[next].focus();
      event.preventDefault();
    });
    bar.append(...buttons);
    show(items[0][0]);
    return {bar, show, buttons};
  };

  /** A colour for a tile block: neighbours differ. */
  T.blockColor = (block, alpha = 1) => `hsl(${(block * 137.508) % 360} 65% 55% / ${alpha})`;

  T.number = value => typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(6)).toString() : String(value);
  T.count = value => value.toLocaleString("en");
})();
