// Sharing: the state in the fragment of the address, one file to keep, and files that are opened or dropped.
"use strict";
(() => {
  const T = globalThis.tilery;
  const MOST = 8 << 20;

  const toBase64 = bytes => {
    let text = "";
    for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
    return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  };
  const fromBase64 = text => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), letter => letter.charCodeAt(0));

  async function through(bytes, stream) {
    const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
    const parts = [];
    let size = 0;
    for (;;) {
      const {done, value} = await reader.read();
      if (done) break;
      size += value.length;
      if (size > MOST) { reader.cancel(); throw new Error("the link is too large"); }
      parts.push(value);
    }
    const out = new Uint8Array(size);
    let at = 0;
    for (const part of parts) { out.set(part, at); at += part.length; }
    return out;
  }

  /** The state as a fragment: compressed JSON. */
  T.fragment = async () => {
    const state = T.state;
    const run = T.runSettings ? T.runSettings() : null;
    const data = {text: state.text, name: state.name, passes: state.passes, gpu: state.gpu, run, pane: T.currentPane,
      sources: state.sources.map(({name, language, text}) => ({name, language, text})), selected: state.selected};
    const packed = await through(new TextEncoder().encode(JSON.stringify(data)), new CompressionStream("deflate-raw"));
    return `#v1=${toBase64(packed)}`;
  };

  /** The state in a fragment, or null. Everything in it is checked: it may come from anybody. */
  T.readFragment = async fragment => {
    if (!fragment.startsWith("#v1=")) return null;
    if (fragment.length > 2 * MOST) throw new Error("the link is too large");
    const bytes = await through(fromBase64(fragment.slice(4)), new DecompressionStream("deflate-raw"));
    const data = JSON.parse(new TextDecoder("utf-8", {fatal: true}).decode(bytes));
    const text = (value, most = MOST) => typeof value === "string" && value.length <= most ? value : "";
    const sources = (Array.isArray(data.sources) ? data.sources : []).slice(0, 8).map(s => ({
      name: text(s && s.name, 500), language: ["cutile", "triton", "cpp"].includes(s && s.language) ? s.language : "", text: text(s && s.text), kernels: []}));
    const run = data.run && Array.isArray(data.run.args) && Array.isArray(data.run.grid)
      ? {args: data.run.args.slice(0, 200).map(a => text(a, 1000)), grid: data.run.grid.slice(0, 3).map(n => Number.isInteger(n) ? n : 1)} : null;
    return {text: typeof data.text === "string" ? text(data.text) : null, name: text(data.name, 500), passes: text(data.passes, 5000), gpu: text(data.gpu, 50), sources, run,
      pane: text(data.pane, 20), selected: Number.isInteger(data.selected) ? data.selected : -1};
  };

  T.share = async () => {
    const fragment = await T.fragment();
    history.replaceState(null, "", fragment);
    try {
      await navigator.clipboard.writeText(location.href);
      T.status("the link is in the clipboard");
    } catch {
      T.status("the link is in the address bar");
    }
  };

  T.save = (data, name, type) => {
    const url = URL.createObjectURL(new Blob([data], {type}));
    const link = T.h("a", {href: url, download: name});
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
  };

  T.exportPage = async () => {
    T.status("exporting…");
    const sources = T.state.sources.map(({name, language, text, compiled}) => ({name: compiled || name, language, text, kernels: []}));
    const ran = T.state.run && T.state.runRequest && T.state.runRequest.text === T.state.text;
    const found = await T.ask("export", {...T.document(), name: T.state.name, passes: T.state.passes, gpu: T.state.gpu,
      grid: T.state.grid, sources, run: ran ? {...T.state.run, request: {...T.state.runRequest, text: ""}} : null});
    if (!found.ok) { T.status(found.error.message, true); return; }
    const stem = (T.state.name.split("/").pop() || "kernel").replace(/\.[^.]*$/, "").replace(/[^\w.-]/g, "_");
    T.save(found.html, `${stem}.html`, "text/html");
    T.status("exported");
  };

  T.openFile = async file => {
    const bytes = new Uint8Array(await file.arrayBuffer());
    let text = "";
    for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
    const found = await T.ask("load", {bytecode: btoa(text), name: file.name});
    if (!found.ok) { T.status(found.error.message, true); return; }
    T.setDocument(found.text, {name: file.name, origin: found.origin, sources: []});
  };
})();
