// The access map: which tile block reads and writes which element of each array.
"use strict";
(() => {
  const T = globalThis.tilery;
  const MOST = 1 << 20;
  let body = null, kind = "any", only = true, block = -1;

  T.accessPanel = () => {
    body = T.h("div", {class: "access"});
    T.on("run", showMap);
    T.on("select", showMap);
    return body;
  };

  function showMap() {
    if (!body || body.hidden) return;
    const run = T.state.run;
    if (!run) { T.replace(body, T.h("p", {class: "hint"}, "Run the kernel first.")); return; }
    const map = run.access;
    const selected = T.state.selected;
    const here = map.accesses.some(a => a.op === selected);
    const used = map.accesses.filter(a => (kind === "any" || a.kind === kind) && (!only || !here || a.op === selected));
    const kinds = T.h("select", {"aria-label": "Accesses", onchange: event => { kind = event.target.value; showMap(); }},
      ...[["any", "reads and writes"], ["read", "reads"], ["write", "writes"], ["update", "atomic updates"]].map(([id, text]) => {
        const option = T.h("option", {value: id}, text);
        if (id === kind) option.selected = true;
        return option;
      }));
    const chosen = T.h("label", {class: "check"}, T.h("input", {type: "checkbox", checked: only, onchange: event => { only = event.target.checked; showMap(); }}), "only the selected operation");
    const blocks = T.h("input", {type: "number", min: 0, max: run.blocks - 1, value: block < 0 ? "" : block, placeholder: "all", "aria-label": "Tile block", title: "Empty: all tile blocks",
      onchange: event => { block = event.target.value === "" ? -1 : Number(event.target.value); showMap(); }});
    const notes = [];
    if (map.truncated) notes.push("There are too many accesses to keep; the map has the first ones.");
    if (map.outside) notes.push(`${T.count(map.outside)} accesses are outside every array.`);
    if (here && only) notes.push(`Of ${T.opName(selected)} only.`);
    T.replace(body, T.h("div", {class: "bar"}, kinds, T.h("label", {class: "check"}, "tile block ", blocks), chosen),
      ...notes.map(note => T.h("div", {class: "note"}, note)),
      ...map.arrays.map((array, number) => draw(array, used.filter(a => a.array === number))));
  }
  T.showAccess = showMap;

  function draw(array, accesses) {
    const size = array.shape.reduce((a, b) => a * b, 1);
    const title = T.h("div", {class: "facts"}, T.h("strong", {}, array.name), ` [${array.shape.join(", ")}]`);
    if (size > MOST) return T.h("div", {}, title, T.h("p", {class: "hint"}, `An array of ${T.count(size)} elements is too large for a map.`));
    const columns = array.shape.length > 1 ? array.shape[array.shape.length - 1] : Math.min(size, 64);
    const rows = Math.max(1, Math.ceil(size / Math.max(1, columns)));
    const cell = Math.max(1, Math.min(12, Math.floor(560 / Math.max(1, columns)), Math.floor(360 / rows) || 1));
    const first = new Int32Array(size).fill(-1), times = new Int32Array(size), writes = new Uint8Array(size), many = new Uint8Array(size);
    for (const access of accesses) {
      const runs = access.runs;
      for (let i = 0; i < runs.length; i += 4) {
        if (block >= 0 && runs[i] !== block) continue;
        for (let at = runs[i + 1]; at < Math.min(size, runs[i + 1] + runs[i + 2]); at++) {
          if (first[at] < 0) first[at] = runs[i];
          else if (first[at] !== runs[i]) many[at] = 1;
          times[at] += runs[i + 3];
          if (access.kind !== "read") writes[at] = 1;
        }
      }
    }
    const canvas = T.h("canvas", {width: columns * cell, height: rows * cell, class: "map", role: "img", "aria-label": `Accesses to ${array.name}`});
    const paint = canvas.getContext("2d");
    let touched = 0, shared = 0;
    for (let at = 0; at < size; at++) {
      if (first[at] < 0) continue;
      touched++;
      shared += many[at];
      paint.fillStyle = T.blockColor(first[at], writes[at] ? 1 : 0.5);
      paint.fillRect((at % columns) * cell, Math.floor(at / columns) * cell, Math.max(1, cell - (cell > 3 ? 1 : 0)), Math.max(1, cell - (cell > 3 ? 1 : 0)));
      if (many[at] && writes[at] && cell > 3) {
        paint.fillStyle = "rgb(0 0 0 / 0.6)";
        paint.fillRect((at % columns) * cell + cell / 2 - 1, Math.floor(at / columns) * cell + cell / 2 - 1, 2, 2);
      }
    }
    if (shared && accesses.some(a => a.kind !== "read")) title.append(T.h("span", {class: "note"}, " dots: several tile blocks, at least one writes"));
    const tell = T.h("div", {class: "note"}, `${T.count(touched)} of ${T.count(size)} elements, ${T.count(shared)} by several tile blocks`);
    canvas.addEventListener("mousemove", event => {
      const box = canvas.getBoundingClientRect();
      const x = Math.floor((event.clientX - box.left) * canvas.width / box.width / cell), y = Math.floor((event.clientY - box.top) * canvas.height / box.height / cell);
      const at = y * columns + x;
      if (at >= 0 && at < size) tell.textContent = describe(array, at, accesses);
    });
    return T.h("div", {class: "map-block"}, title, canvas, tell);
  }

  function describe(array, at, accesses) {
    const who = [];
    for (const access of accesses) {
      const found = [];
      for (let i = 0; i < access.runs.length && found.length < 8; i += 4) {
        if (at >= access.runs[i + 1] && at < access.runs[i + 1] + access.runs[i + 2]) found.push(access.runs[i]);
      }
      if (found.length) who.push(`${T.opName(access.op)} (${access.kind}) by tile block${found.length > 1 ? "s" : ""} ${[...new Set(found)].join(", ")}`);
    }
    return `${array.name} element ${at}: ${who.join("; ") || "not accessed"}`;
  }
})();
