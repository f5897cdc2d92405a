// The pane of bytes: each range of the bytecode with its meaning.
"use strict";
(() => {
  const T = globalThis.tilery;
  const WIDTH = 8;
  let body, list, head, data = null, bytes = null, rows = null, firstRow = new Map();

  function build() {
    head = T.h("div", {class: "bar"});
    list = new T.List({row, height: 19, label: "Bytes", activate: i => {
      const op = data.op[rows[2 * i]];
      if (op > 0) T.select(op, "bytes");
    }});
    body = T.h("div", {class: "column"}, head, list.element);
    return body;
  }

  async function show() {
    const version = T.state.version;
    T.replace(head, "reading…");
    const found = await T.ask("bytes", T.document());
    if (version !== T.state.version) return;
    if (!found.ok) {
      data = null;
      T.replace(head, T.problem(found.error));
      list.set(0);
      return;
    }
    data = found;
    bytes = Uint8Array.from(atob(found.data), letter => letter.charCodeAt(0));
    const made = [];
    firstRow = new Map();
    for (let mark = 0; mark < found.start.length; mark++) {
      if (!firstRow.has(found.op[mark])) firstRow.set(found.op[mark], made.length / 2);
      for (let at = found.start[mark]; at < found.end[mark]; at += WIDTH) made.push(mark, at);
    }
    rows = made;
    T.replace(head, T.h("span", {}, `${T.count(bytes.length)} bytes, version ${found.version}`),
      T.h("span", {class: "hint"}, found.original ? "as in the file" : "as tilery writes it"),
      found.truncated ? T.h("span", {class: "hint"}, "the end is left out") : null);
    list.set(rows.length / 2);
    showSelection("");
  }

  function row(i) {
    const mark = rows[2 * i], at = rows[2 * i + 1], op = data.op[mark];
    const end = Math.min(at + WIDTH, data.end[mark]);
    let hex = "";
    for (let k = at; k < end; k++) hex += bytes[k].toString(16).padStart(2, "0") + " ";
    const first = at === data.start[mark];
    const name = op > 0 && op === T.state.selected ? "row chosen" : T.state.related.has(op) ? "row near" : "row";
    return T.h("div", {class: name},
      T.h("span", {class: "offset"}, at.toString(16).padStart(6, "0")),
      T.h("span", {class: "hex"}, hex),
      T.h("span", {class: `meaning d${Math.min(12, data.depth[mark])}`}, first ? data.texts[data.text[mark]] : ""));
  }

  function showSelection(from) {
    if (!data) return;
    if (from !== "bytes" && firstRow.has(T.state.selected)) {
      list.active = firstRow.get(T.state.selected);
      list.reveal(list.active);
    }
    list.draw();
  }

  T.on("analysis", () => T.touch("bytes"));
  T.on("select", from => showSelection(from));
  T.pane({id: "bytes", title: "Bytes", side: "right", build, show, shown: () => showSelection("")});
})();
