// The pane of the graph: the operations of a kernel and the values between them, laid out by dagre.
"use strict";
(() => {
  const T = globalThis.tilery, V = globalThis.tileryVendor;
  let head, view, canvas, found = null, nodes = new Map(), box = null, scale = 1, select;

  function build() {
    select = T.h("select", {"aria-label": "Kernel", onchange: () => T.touch("graph")});
    head = T.h("div", {class: "bar"}, select,
      T.h("button", {type: "button", onclick: () => zoom(1.25), "aria-label": "Larger"}, "+"),
      T.h("button", {type: "button", onclick: () => zoom(0.8), "aria-label": "Smaller"}, "−"),
      T.h("button", {type: "button", onclick: fit}, "Fit"), T.h("span", {class: "hint"}));
    view = T.h("div", {class: "graph", tabindex: "0", "aria-label": "Graph", onkeydown: key});
    view.addEventListener("wheel", event => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      zoom(event.deltaY < 0 ? 1.1 : 0.9);
    }, {passive: false});
    return T.h("div", {class: "column"}, head, view);
  }

  function functionOf(id) {
    const ops = T.state.analysis.ops;
    while (id > 0 && ops.parent[id] > 0) id = ops.parent[id];
    return id;
  }

  async function show() {
    const analysis = T.state.analysis;
    if (!analysis) return;
    const kernels = analysis.functions.filter(f => f.kind === "entry");
    const before = select.value;
    T.replace(select, ...kernels.map(f => T.h("option", {value: f.id}, f.shown)));
    if (kernels.some(f => String(f.id) === before)) select.value = before;
    if (!kernels.length) { T.replace(view, T.h("p", {class: "hint"}, "There is no kernel.")); return; }
    await draw();
  }

  async function draw() {
    const version = T.state.version;
    const made = await T.ask("graph", {...T.document(), function: Number(select.value), around: Math.max(0, T.state.selected)});
    if (version !== T.state.version) return;
    nodes = new Map();
    if (!made.ok) { found = null; T.replace(view, T.problem(made.error)); return; }
    found = made;
    const shown = made.nodes.filter(n => !n.argument).length;
    head.lastChild.textContent = shown < made.total ? `${T.state.selected > 0 ? "" : "the first "}${shown} of ${T.count(made.total)} operations${T.state.selected > 0 ? ", around the selected one" : "; select one to see what is around it"}` : `${T.count(shown)} operations`;
    T.replace(view, layout(made));
    fit();
    showSelection();
  }

  function label(node) {
    if (node.argument) return [node.name, node.type];
    const first = node.results ? `${node.results} = ${node.name}` : node.name;
    return [first, node.value || node.type || ""].filter(Boolean);
  }

  function layout(made) {
    const g = new V.dagre.graphlib.Graph({compound: true});
    g.setGraph({rankdir: "TB", nodesep: 18, ranksep: 28, marginx: 12, marginy: 12});
    g.setDefaultEdgeLabel(() => ({}));
    const parents = new Set(made.nodes.map(n => n.parent).filter(p => p > 0));
    const ids = new Set(made.nodes.map(n => n.id));
    for (const node of made.nodes) {
      const lines = label(node);
      const width = Math.max(60, 16 + 6.7 * Math.max(...lines.map(l => Math.min(l.length, 44))));
      g.setNode(`n${node.id}`, {width, height: 14 + 15 * lines.length, lines, node});
      if (parents.has(node.id)) { g.setNode(`c${node.id}`, {cluster: node}); g.setParent(`n${node.id}`, `c${node.id}`); }
    }
    for (const node of made.nodes) {
      if (node.parent > 0 && ids.has(node.parent)) g.setParent(parents.has(node.id) ? `c${node.id}` : `n${node.id}`, `c${node.parent}`);
    }
    for (const [from, to, value, token] of made.edges) {
      if (from !== to) g.setEdge(`n${from}`, `n${to}`, {value, token});
    }
    // What has no operands inside a region is below the operation that has the region.
    for (const node of made.nodes) {
      if (node.parent > 0 && ids.has(node.parent) && !made.edges.some(e => e[1] === node.id)) {
        g.setEdge(`n${node.parent}`, `n${node.id}`, {inside: true});
      }
    }
    V.dagre.layout(g);
    box = g.graph();
    const svg = T.s("svg", {xmlns: "http://www.w3.org/2000/svg", role: "img", "aria-label": "Graph of the kernel"});
    canvas = svg;
    svg.append(T.s("defs", {}, T.s("marker", {id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto"},
      T.s("path", {d: "M0 0L8 4L0 8z", class: "arrow"}))));
    for (const name of g.nodes()) {
      const at = g.node(name);
      if (at.cluster) svg.append(T.s("rect", {class: "cluster", x: at.x - at.width / 2, y: at.y - at.height / 2, width: at.width, height: at.height, rx: 6}));
    }
    for (const edge of g.edges()) {
      const at = g.edge(edge);
      if (at.inside) continue;
      const path = at.points.map((p, i) => `${i ? "L" : "M"}${p.x.toFixed(1)} ${p.y.toFixed(1)}`).join("");
      svg.append(T.s("path", {class: at.token ? "edge token" : "edge", d: path, "marker-end": "url(#arrow)", "data-from": edge.v.slice(1), "data-to": edge.w.slice(1)},
        T.s("title", {}, at.value)));
    }
    for (const name of g.nodes()) {
      const at = g.node(name);
      if (!at.node) continue;
      const id = at.node.id;
      const group = T.s("g", {class: at.node.argument ? "node argument" : "node", "data-id": id, transform: `translate(${at.x - at.width / 2} ${at.y - at.height / 2})`},
        T.s("rect", {width: at.width, height: at.height, rx: 4}),
        ...at.lines.map((line, i) => T.s("text", {x: at.width / 2, y: 17 + 15 * i, class: i ? "minor" : ""}, line.length > 44 ? line.slice(0, 43) + "…" : line)),
        T.s("title", {}, at.lines.join("\n")));
      group.addEventListener("click", () => { if (id > 0) T.select(id, "graph"); view.focus({preventScroll: true}); });
      nodes.set(id, {group, at});
      svg.append(group);
    }
    return svg;
  }

  function zoom(by) { setScale(Math.max(0.05, Math.min(4, scale * by))); }
  function setScale(value) {
    scale = value;
    if (!canvas || !box) return;
    canvas.setAttribute("width", Math.max(1, box.width * scale));
    canvas.setAttribute("height", Math.max(1, box.height * scale));
    canvas.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
  }
  function fit() {
    if (!box) return;
    setScale(Math.max(0.75, Math.min(1, (view.clientWidth - 20) / box.width)));
  }

  /** Go along values: up to an operand, down to a use, left and right in the text. */
  function key(event) {
    if (event.key === "+" || event.key === "=") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else if (event.key === "0") fit();
    else if (found && ["ArrowUp", "ArrowDown"].includes(event.key)) {
      const up = event.key === "ArrowUp";
      const edge = found.edges.find(e => e[up ? 1 : 0] === T.state.selected && e[up ? 0 : 1] > 0);
      if (edge) T.select(edge[up ? 0 : 1], "graph-key");
    } else if (event.key === "ArrowLeft") T.step(-1);
    else if (event.key === "ArrowRight") T.step(1);
    else return;
    event.preventDefault();
  }

  function showSelection(from) {
    if (!found) return;
    const selected = T.state.selected;
    for (const [id, {group}] of nodes) {
      group.classList.toggle("chosen", id === selected);
      group.classList.toggle("near", T.state.related.has(id));
    }
    for (const path of canvas.querySelectorAll(".edge")) {
      path.classList.toggle("lit", Number(path.dataset.from) === selected || Number(path.dataset.to) === selected);
    }
    const at = nodes.get(selected);
    if (!at || from === "graph") return;
    const x = at.at.x * scale, y = at.at.y * scale;
    if (y < view.scrollTop + 30 || y > view.scrollTop + view.clientHeight - 30) view.scrollTop = y - view.clientHeight / 2;
    if (x < view.scrollLeft + 30 || x > view.scrollLeft + view.clientWidth - 30) view.scrollLeft = x - view.clientWidth / 2;
  }

  T.on("analysis", () => T.touch("graph"));
  T.on("select", from => {
    if (!found || !T.state.analysis) return;
    const selected = T.state.selected;
    const home = selected > 0 ? functionOf(selected) : -1;
    if (selected > 0 && !nodes.has(selected) && select && [...select.options].some(o => Number(o.value) === home) && home !== selected) {
      select.value = String(home);
      if (!T.state.exported) { T.touch("graph"); return; }
    }
    showSelection(from);
  });
  T.pane({id: "graph", title: "Graph", side: "right", build, show, shown: () => showSelection("")});
})();
