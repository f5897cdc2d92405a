// Tables and pictures of numbers: results of a run, and the values of a tile at an operation.
"use strict";
(() => {
  const T = globalThis.tilery;
  const NAMED = {NaN: NaN, Infinity: Infinity, "-Infinity": -Infinity};
  const asNumber = value => typeof value === "string" ? (value in NAMED ? NAMED[value] : NaN) : value;

  /** The rows and columns in which an array is shown: its last dimension, and all others. */
  function flat(shape, size) {
    const columns = shape.length ? shape[shape.length - 1] : 1;
    if (shape.length === 1 && columns > 16) return [Math.ceil(size / 16), 16];
    return [Math.ceil(size / Math.max(1, columns)), Math.max(1, columns)];
  }

  function index(shape, at) {
    const out = [];
    for (let axis = shape.length - 1; axis >= 0; axis--) { out.unshift(at % shape[axis]); at = Math.floor(at / shape[axis]); }
    return out.join(", ");
  }

  /** A table with rows that exist while they are visible, and a picture if the elements are numbers. */
  T.tile = ({shape, elements, low, high, nans = 0, infinities = 0, size}, title) => {
    const [rows, columns] = flat(shape, Math.min(size, elements.length));
    const shown = Math.min(columns, 64);
    const list = new T.List({height: 19, label: title, row: r => {
      const cells = [];
      for (let c = 0; c < shown && r * columns + c < elements.length; c++) {
        const at = r * columns + c;
        const cell = T.h("span", {class: "cell", title: `[${index(shape, at)}]`}, T.number(elements[at]));
        shade(cell, elements[at], low, high);
        cells.push(cell);
      }
      return T.h("div", {class: "row cells"}, T.h("span", {class: "no"}, `[${index(shape, r * columns)}]`), ...cells, columns > shown ? " …" : null);
    }});
    list.element.style.height = `${Math.min(260, 19 * Math.max(1, rows) + 6)}px`;
    list.element.classList.add("tile");
    list.set(rows);
    const facts = [`shape [${shape.join(", ")}]`];
    if (low !== undefined) facts.push(`${T.number(low)} to ${T.number(high)}`);
    if (nans) facts.push(`${T.count(nans)} NaN`);
    if (infinities) facts.push(`${T.count(infinities)} infinite`);
    if (size > elements.length) facts.push(`the first ${T.count(elements.length)} of ${T.count(size)} elements`);
    return T.h("div", {class: "tile-block"}, T.h("div", {class: "facts"}, T.h("strong", {}, title), " ", facts.join(", ")), list.element);
  };

  function shade(cell, value, low, high) {
    const number = asNumber(value);
    if (typeof value === "string" && !(value in NAMED)) return;
    if (!Number.isFinite(number)) { cell.classList.add("odd"); return; }
    if (typeof low !== "number" || typeof high !== "number" || high <= low) return;
    cell.style.backgroundColor = `color-mix(in srgb, var(--heat) ${Math.round(70 * (number - low) / (high - low))}%, transparent)`;
  }

  // ---------------------------------------------------------------- values at an operation

  let body = null, request = 0, which = 0;

  T.valuesPanel = () => {
    body = T.h("div", {class: "values"});
    T.on("select", () => { which = 0; showValues(); });
    T.on("run", () => { which = 0; showValues(); });
    return body;
  };

  function showValues() {
    if (!body || body.hidden) return;
    const {run, selected, analysis} = T.state;
    if (!run) { T.replace(body, T.h("p", {class: "hint"}, "Run the kernel first.")); return; }
    if (selected < 1) { T.replace(body, T.h("p", {class: "hint"}, "Select an operation to see the tiles it made.")); return; }
    const summary = run.values[selected];
    const head = T.h("div", {class: "facts"}, T.h("strong", {}, T.opName(selected)), ` in tile block ${run.block}`,
      summary ? `: ${summary.times} time${summary.times === 1 ? "" : "s"}, ${summary.type}` : "");
    if (!summary) {
      T.replace(body, head, T.h("p", {class: "hint"}, "It made no tile in this tile block."));
      return;
    }
    const preview = T.h("pre", {class: "preview"}, summary.elements.map(T.number).join("  ") + (summary.size > summary.elements.length ? "  …" : ""));
    T.replace(body, head, preview);
    if (!T.state.exported && analysis) fetchValues(selected, head);
  }
  T.showValues = showValues;

  async function fetchValues(op, head) {
    const mine = ++request;
    await new Promise(resolve => setTimeout(resolve, 250));
    if (mine !== request || T.running) return;
    const found = await T.ask("values", {...T.state.runRequest, op, occurrence: which});
    if (mine !== request) return;
    if (!found.ok) { T.replace(body, head, T.problem(found.error)); return; }
    const turns = found.kept > 1 ? T.h("label", {class: "bar"}, "execution ", T.h("input", {
      type: "range", min: 0, max: found.kept - 1, value: found.occurrence, "aria-label": "Execution",
      onchange: event => { which = Number(event.target.value); fetchValues(op, head); }}), ` ${found.occurrence + 1} of ${found.times}`) : null;
    T.replace(body, head, turns, ...found.tiles.map((tile, i) => T.tile(tile, found.tiles.length > 1 ? `result ${i}` : tile.type)));
  }
})();
