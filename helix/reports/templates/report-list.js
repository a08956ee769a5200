"use strict";
// The trajectories of a page: they stand in it, are packed in it, or are pages beside it. Whatever
// is unpacked is markup that was escaped when the page was made; it is parsed as an inert document.
const trajectories = (() => {
  const CHUNK = 40;
  const ROW = 44;
  const list = document.getElementById("list");
  const parts = document.body.dataset.parts;
  const here = parts === "inline" || parts === "page";
  const policy = window.trustedTypes && trustedTypes.createPolicy("helix", { createHTML: (text) => text });
  let all = [];
  let chunks = [];
  let drawn = [];
  let asked = 0;

  const stored = (id) => document.getElementById(id).textContent;
  const parsed = (html) =>
    [...new DOMParser().parseFromString(policy ? policy.createHTML(html) : html, "text/html").body.childNodes];

  async function unpacked(id) {
    const bytes = Uint8Array.from(atob(stored(id)), (c) => c.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  }

  const SPELLED = { "&lt;": "<", "&gt;": ">", "&#34;": '"', "&#39;": "'", "&amp;": "&" };
  const plain = (text) => text.replace(/&(?:lt|gt|amp|#34|#39);/g, (name) => SPELLED[name]);
  const said = (html) => plain(html.replace(/<[^>]*>/g, "")).toLowerCase();

  // Attributes of a row's first tag, without making its elements.
  function row(html) {
    const tag = html.slice(0, html.indexOf(">"));
    const data = {};
    for (const [, name, value] of tag.matchAll(/ data-([a-z]+)="([^"]*)"/g)) data[name] = plain(value);
    return { id: / id="([^"]*)"/.exec(tag)[1], data, html, element: null };
  }

  function elementOf(entry) {
    if (!entry.element) [entry.element] = parsed(entry.html).filter((node) => node.nodeType === 1);
    return entry.element;
  }

  // Rows are in the document only near what is seen of the list, and while they are open.
  const near = here ? null : new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) {
      const chunk = chunks[target.dataset.at];
      if (chunk && chunk.box === target) (isIntersecting ? fill : empty)(chunk);
    }
  }, { rootMargin: "1200px" });

  function fill(chunk) {
    if (chunk.filled) return;
    chunk.filled = true;
    chunk.box.replaceChildren(...chunk.entries.map(elementOf));
    chunk.box.style.height = "";
  }

  function empty(chunk) {
    const busy = chunk.box.querySelector("details.traj[open]") || chunk.box.contains(document.activeElement);
    if (!chunk.filled || busy) return;
    chunk.box.style.height = chunk.box.offsetHeight + "px";
    chunk.filled = false;
    chunk.box.replaceChildren();
    for (const entry of chunk.entries) if (!entry.full) entry.element = null;
  }

  function chunked(entries) {
    const box = document.createElement("div");
    box.className = "chunk";
    box.style.height = entries.length * ROW + "px";
    const chunk = { box, entries, filled: false };
    for (const entry of entries) entry.chunk = chunk;
    return chunk;
  }

  // Show these and no others, in this order.
  function draw(entries) {
    drawn = entries;
    if (here) {
      const shown = new Set(entries);
      for (const entry of all) entry.element.hidden = !shown.has(entry);
      return;
    }
    near.disconnect();
    for (const entry of all) entry.chunk = null;
    chunks = [];
    for (let at = 0; at < entries.length; at += CHUNK) chunks.push(chunked(entries.slice(at, at + CHUNK)));
    place();
  }

  function place() {
    chunks.forEach((chunk, at) => { chunk.box.dataset.at = at; });
    list.replaceChildren(...chunks.map((chunk) => chunk.box));
    chunks.slice(0, 2).forEach(fill);
    for (const chunk of chunks) near.observe(chunk.box);
  }

  // Have a trajectory in the document with its steps and verdicts, then go on with its element.
  function reach(entry, then) {
    if (here) { entry.element.hidden = false; then(entry.element); return; }
    if (!entry.chunk) { chunks.unshift(chunked([entry])); place(); }
    fill(entry.chunk);
    const element = elementOf(entry);
    if (entry.full) { then(element); return; }
    unpacked("part-" + entry.id).then((html) => {
      if (!entry.full) element.append(...parsed(html));
      entry.full = true;
      then(element);
    });
  }

  // Where each trajectory has a page of its own, go there; say whether that is so.
  function away(entry, address, replacing) {
    if (parts !== "pages" || !entry) return false;
    remember();
    const target = entry.data.page + address;
    if (replacing) location.replace(target); else location.assign(target);
    return true;
  }

  // What is listed, for the pages: the next of a list that was sifted is the next of those listed.
  function remember() {
    const names = drawn.map((entry) => entry.data.page.split("/").pop());
    try {
      sessionStorage.setItem(storeOf(drawn[0].data.page), JSON.stringify(names));
    } catch { /* without a store the next is the next of all */ }
  }

  const storeOf = (page) => "helix-listed " + new URL(".", new URL(page, location)).pathname;

  function beyond(by) {
    if (parts !== "page") return false;
    const own = location.pathname.split("/").pop();
    let listed = [];
    try { listed = JSON.parse(sessionStorage.getItem(storeOf(own))) || []; } catch { /* as above */ }
    const at = listed.indexOf(own);
    const link = document.querySelector(by > 0 ? "a[rel=next]" : "a[rel=prev]");
    const next = at < 0 ? link && link.getAttribute("href") : listed[at + by];
    if (next && /^[0-9a-f]+\.html$/.test(next)) location.assign(next);
    return true;
  }

  // Find the entries that hold every word; stored parts are read one after the other.
  function search(entries, words, told) {
    const turn = ++asked;
    if (!words.length) { told(entries, true); return; }
    const holds = (text) => words.every((word) => text.includes(word));
    if (parts !== "packed") {
      told(entries.filter((entry) => holds(text(entry))), true);
      return;
    }
    (async () => {
      const found = [];
      let at = 0;
      for (const entry of entries) {
        if (holds(text(entry) + " " + said(await unpacked("part-" + entry.id)))) found.push(entry);
        if (turn !== asked) return;
        if (++at % 500 === 0) told([...found], false);
      }
      told(found, true);
    })();
  }

  const text = (entry) => entry.html === undefined
    ? entry.element.textContent.toLowerCase()
    : said(entry.html) + " " + (entry.data.causes || "").toLowerCase();

  if (parts === "pages") {
    document.addEventListener("click", (event) => { if (drawn.length && event.target.closest("a[href*='.html']")) remember(); });
  }

  function start(then) {
    if (here) {
      all = [...list.querySelectorAll(":scope > .traj")].map((element) => ({ id: element.id, data: element.dataset, element }));
      drawn = all;
      then();
      return;
    }
    const box = document.getElementById("search");
    if (parts === "pages" && box) box.placeholder = "Search ids, files, routes, causes  /";
    unpacked("kept").then((text) => { all = JSON.parse(text).map(row); drawn = all; then(); });
  }

  return {
    start, draw, reach, away, beyond, search,
    all: () => all,
    shown: () => drawn,
    at: (anchor) => { const id = anchor.split("-")[0]; return all.find((entry) => entry.id === id); },
    of: (element) => element && all.find((entry) => entry.id === element.id),
    named: (name) => all.find((entry) => entry.data.trace === name),
  };
})();
