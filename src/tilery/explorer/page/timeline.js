// The timeline of tokens: memory operations of the first tile blocks in the order in which they ran.
"use strict";
(() => {
  const T = globalThis.tilery;
  const STEP = 26, LANE = 30, LEFT = 70, TOP = 24, MOST = 600;
  let body = null;

  T.timelinePanel = () => {
    body = T.h("div", {class: "timeline"});
    T.on("run", showTimeline);
    T.on("select", mark);
    return body;
  };

  function showTimeline() {
    if (!body || body.hidden) return;
    const run = T.state.run;
    if (!run) { T.replace(body, T.h("p", {class: "hint"}, "Run the kernel first.")); return; }
    const all = run.timeline.events;
    if (!all.length) { T.replace(body, T.h("p", {class: "hint"}, "No memory operation ran.")); return; }
    const events = all.slice(0, MOST);
    const blocks = [...new Set(events.map(e => e.block))].sort((a, b) => a - b);
    const times = [...new Set(events.map(e => e.at))].sort((a, b) => a - b);
    const x = new Map(times.map((time, i) => [time, LEFT + STEP * i + STEP / 2]));
    const y = new Map(blocks.map((block, i) => [block, TOP + LANE * i + LANE / 2]));
    const width = LEFT + STEP * times.length + 20, height = TOP + LANE * blocks.length + 10;
    const svg = T.s("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Timeline of tokens"});
    for (const block of blocks) {
      svg.append(T.s("line", {class: "lane", x1: LEFT, x2: width, y1: y.get(block), y2: y.get(block)}),
        T.s("text", {x: 4, y: y.get(block) + 4, class: "minor"}, `block ${block}`));
    }
    const makers = new Map(events.map(e => [`${e.block}:${e.makes}`, e]));
    for (const event of events) {
      for (const token of event.waits) {
        const from = makers.get(`${event.block}:${token}`);
        if (!from) continue;
        const x1 = x.get(from.at), x2 = x.get(event.at), at = y.get(event.block);
        svg.append(T.s("path", {class: "token-line", d: `M${x1} ${at - 8}C${x1 + 10} ${at - 20} ${x2 - 10} ${at - 20} ${x2} ${at - 8}`}));
      }
    }
    for (const event of events) {
      const shape = event.kind === "join"
        ? T.s("circle", {cx: x.get(event.at), cy: y.get(event.block), r: 5})
        : T.s("rect", {x: x.get(event.at) - 8, y: y.get(event.block) - 8, width: 16, height: 16, rx: 3});
      const group = T.s("g", {class: `event ${event.kind}`, "data-op": event.op, tabindex: "-1"}, shape,
        T.s("text", {x: x.get(event.at), y: y.get(event.block) + 4, class: "letter"}, {read: "R", write: "W", update: "U", join: ""}[event.kind] || ""),
        T.s("title", {}, `${T.opName(event.op)} in tile block ${event.block}${event.elements === undefined ? "" : `: ${event.elements} elements, ${event.ordering}`}${event.waits.length ? `; waits for token ${event.waits.join(", ")}` : "; waits for nothing"}`));
      group.addEventListener("click", () => T.select(event.op, "timeline"));
      svg.append(group);
    }
    T.replace(body,
      T.h("div", {class: "note"}, `R reads, W writes, U updates atomically, dots make tokens; arcs are tokens that an operation waits for. ${all.length > events.length || run.timeline.truncated ? "Only the first events are shown." : ""}`),
      T.h("div", {class: "scroll"}, svg));
    mark();
  }
  T.showTimeline = showTimeline;

  function mark() {
    if (!body) return;
    for (const group of body.querySelectorAll(".event")) group.classList.toggle("chosen", Number(group.dataset.op) === T.state.selected);
  }
})();
