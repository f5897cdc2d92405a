// The panes of cost with a roofline, and of remarks of NVIDIA's compiler.
"use strict";
(() => {
  const T = globalThis.tilery;
  const WIDTH = 560, HEIGHT = 320, LEFT = 56, RIGHT = 16, TOP = 26, BOTTOM = 44;
  let body, gpu, grid;

  function build() {
    gpu = T.h("select", {"aria-label": "GPU", onchange: () => { T.state.gpu = gpu.value; T.touch("cost"); }});
    grid = T.h("input", {type: "text", "aria-label": "Grid", size: 10, onchange: () => { T.state.grid = grid.value.split(/[\s,x]+/).filter(Boolean).map(Number); T.touch("cost"); }});
    T.on("hello", () => {
      T.replace(gpu, ...T.state.hello.gpus.map(g => T.h("option", {value: g.name}, g.name)));
      gpu.value = T.state.gpu;
    });
    body = T.h("div", {class: "panel"});
    return T.h("div", {class: "column"}, T.h("div", {class: "bar"}, T.h("label", {class: "field"}, T.h("span", {}, "GPU"), gpu), T.h("label", {class: "field"}, T.h("span", {}, "grid"), grid)), body);
  }

  async function show() {
    const version = T.state.version;
    grid.value = T.state.grid.join(", ");
    const found = await T.ask("cost", {...T.document(), gpu: T.state.gpu, grid: T.state.grid});
    if (version !== T.state.version) return;
    if (!found.ok) { T.replace(body, T.problem(found.error)); return; }
    T.replace(body, ...found.kernels.map(kernelCost), found.kernels.length ? roofline(found) : T.h("p", {class: "hint"}, "There is no kernel."));
    showSelection();
  }

  const seconds = value => value >= 1 ? `${value.toPrecision(3)} s` : value >= 1e-3 ? `${(value * 1e3).toPrecision(3)} ms` : value >= 1e-6 ? `${(value * 1e6).toPrecision(3)} µs` : `${(value * 1e9).toPrecision(3)} ns`;

  function kernelCost(kernel) {
    const roof = kernel.roofline;
    const cells = ["operation", "times", "bytes read", "bytes written", "flops"];
    const rows = kernel.operations.map(o => T.h("tr", {"data-op": o.op, tabindex: "0", onclick: () => T.select(o.op, "cost"), onkeydown: event => { if (event.key === "Enter") T.select(o.op, "cost"); }},
      T.h("td", {}, o.name), ...[o.times === null ? "?" : T.count(o.times), ...[o.bytes_read, o.bytes_written, o.flops].map(n => n ? T.count(n) : "")].map(text => T.h("td", {class: "num"}, text))));
    return T.h("div", {},
      T.h("div", {class: "facts"}, T.h("strong", {title: kernel.kernel}, kernel.shown), ` ${T.count(kernel.blocks)} tile block${kernel.blocks === 1 ? "" : "s"}: ${T.count(kernel.bytes_read)} bytes read, ${T.count(kernel.bytes_written)} written, ${T.count(kernel.flops)} flops`,
        kernel.intensity === null ? "" : `, ${kernel.intensity.toPrecision(4)} flops per byte`),
      T.h("div", {class: "facts"}, `${roof.gpu}: at least ${seconds(Math.max(roof.memory_seconds, roof.compute_seconds))}, bound by ${roof.bound}`),
      kernel.partial ? T.h("div", {class: "note"}, "? is in a loop of unknown length, of which one iteration is counted.") : null,
      T.h("table", {class: "cost"}, T.h("thead", {}, T.h("tr", {}, ...cells.map((c, i) => T.h("th", {class: i ? "num" : ""}, c)))), T.h("tbody", {}, ...rows)));
  }

  function roofline(found) {
    const card = T.state.hello && T.state.hello.gpus.find(g => g.name === found.gpu);
    const points = found.kernels.filter(k => k.roofline.intensity && k.roofline.attainable_tflops);
    if (!card) return null;
    const used = new Set(["vector f32", "tensor f16", ...found.kernels.flatMap(k => Object.keys(k.flops_by_ceiling))]);
    const peak = name => card.peaks[name] || card.peaks[name.endsWith("f64") ? "vector f64" : "vector f32"];
    const roofs = [...used].map(name => [name, peak(name)]).sort((a, b) => a[1] - b[1]);
    const xs = [...points.map(k => k.roofline.intensity), ...roofs.map(([, p]) => p * 1e3 / card.bandwidth)];
    const ys = [...points.map(k => k.roofline.attainable_tflops), ...roofs.map(([, p]) => p)];
    const decade = (values, low, high) => [Math.floor(Math.log10(Math.min(...values) * low)), Math.ceil(Math.log10(Math.max(...values) * high))];
    const [x0, x1] = decade(xs, 0.8, 1.3), [y0, y1] = decade(ys, 0.8, 1.6);
    const px = x => LEFT + (Math.log10(x) - x0) / Math.max(1, x1 - x0) * (WIDTH - LEFT - RIGHT);
    const py = y => HEIGHT - BOTTOM - (Math.log10(y) - y0) / Math.max(1, y1 - y0) * (HEIGHT - TOP - BOTTOM);
    const svg = T.s("svg", {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "roofline", role: "img", "aria-label": `Roofline of ${card.name}`});
    for (let d = x0; d <= x1; d++) svg.append(T.s("line", {class: "gridline", x1: px(10 ** d), x2: px(10 ** d), y1: TOP, y2: HEIGHT - BOTTOM}), T.s("text", {x: px(10 ** d), y: HEIGHT - BOTTOM + 16, class: "tick middle"}, String(Number((10 ** d).toPrecision(1)))));
    for (let d = y0; d <= y1; d++) svg.append(T.s("line", {class: "gridline", x1: LEFT, x2: WIDTH - RIGHT, y1: py(10 ** d), y2: py(10 ** d)}), T.s("text", {x: LEFT - 6, y: py(10 ** d) + 4, class: "tick end"}, String(Number((10 ** d).toPrecision(1)))));
    const top = roofs[roofs.length - 1][1];
    const start = 10 ** x0;
    const low = Math.max(start * card.bandwidth / 1e3, 10 ** y0);
    svg.append(T.s("line", {class: "roof", x1: px(low * 1e3 / card.bandwidth), y1: py(low), x2: px(top * 1e3 / card.bandwidth), y2: py(top)}));
    let last = Infinity;
    for (const [name, value] of roofs) {
      const y = py(value), x = px(value * 1e3 / card.bandwidth);
      svg.append(T.s("line", {class: "roof", x1: x, y1: y, x2: WIDTH - RIGHT, y2: y}));
      if (last - y > 11) { svg.append(T.s("text", {x: WIDTH - RIGHT - 4, y: y - 4, class: "tick end"}, `${name} ${value}`)); last = y; }
    }
    points.forEach((k, i) => {
      const x = px(k.roofline.intensity), y = py(k.roofline.attainable_tflops);
      svg.append(T.s("circle", {cx: x, cy: y, r: 6, class: "point"}, T.s("title", {}, k.kernel)),
        T.s("text", {x: x + 10, y: y + 14 + 13 * (i % 3), class: "tick"}, k.shown.length > 24 ? k.shown.slice(0, 23) + "…" : k.shown));
    });
    svg.append(T.s("text", {x: (LEFT + WIDTH - RIGHT) / 2, y: HEIGHT - 8, class: "tick middle"}, "float operations per byte"),
      T.s("text", {x: 4, y: 12, class: "tick"}, "TFLOP/s"));
    return T.h("div", {class: "picture"}, svg);
  }

  function showSelection() {
    for (const row of body.querySelectorAll("tr[data-op]")) row.classList.toggle("chosen", Number(row.dataset.op) === T.state.selected);
    const chosen = body.querySelector("tr.chosen");
    if (chosen) chosen.scrollIntoView({block: "nearest"});
  }

  T.on("analysis", () => T.touch("cost"));
  T.on("hello", () => T.touch("cost"));
  T.on("select", () => { if (body) showSelection(); });

  // ---------------------------------------------------------------- remarks

  let said, target, ask;

  function buildRemarks() {
    target = T.h("input", {type: "text", value: "sm_100", size: 8, "aria-label": "Target"});
    ask = T.h("button", {type: "button", class: "primary", onclick: askRemarks}, "Compile with tileiras");
    said = T.h("div", {class: "panel"}, T.h("p", {class: "hint"}, "What NVIDIA's compiler says of its choices."));
    T.on("hello", () => {
      ask.disabled = !T.state.hello.remarks;
      if (ask.disabled && !T.state.exported) T.replace(said, T.h("p", {class: "hint"}, "tileiras is not installed here: pip install 'tilery[nvidia]'."));
    });
    return T.h("div", {class: "column"}, T.h("div", {class: "bar"}, target, ask), said);
  }

  async function askRemarks() {
    ask.disabled = true;
    T.replace(said, "compiling…");
    const found = await T.ask("remarks", {...T.document(), target: target.value});
    ask.disabled = false;
    if (!found.ok) { T.replace(said, T.problem(found.error)); return; }
    T.replace(said, ...found.remarks.map(r => T.h("div", {class: `said ${r.kind}`, "data-op": r.op},
      T.h("div", {}, T.h("span", {class: "chip"}, r.kind), " ", T.h("button", {type: "button", class: "link", onclick: () => T.select(r.op, "remarks")}, `${r.operation ? r.operation + ": " : ""}${r.message}`)),
      ...r.reasons.map(text => T.h("div", {class: "note"}, text)),
      ...Object.entries(r.details).map(([key, text]) => T.h("div", {class: "note"}, `${key}: ${text}`)),
      ...r.advice.map(text => T.h("div", {class: "note"}, `to change it: ${text}`)))),
    found.remarks.length ? null : T.h("p", {class: "hint"}, `tileiras has no remarks for ${found.target}.`));
    markRemarks();
  }

  function markRemarks() {
    if (!said) return;
    for (const each of said.querySelectorAll("[data-op]")) each.classList.toggle("chosen", Number(each.dataset.op) === T.state.selected && T.state.selected > 0);
  }

  T.on("select", markRemarks);
  T.pane({id: "cost", title: "Cost", side: "right", build, show});
  T.pane({id: "remarks", title: "Remarks", side: "right", build: buildRemarks});
})();
