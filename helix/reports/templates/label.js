"use strict";
(() => {
  const body = document.body;
  const cell = "/cell/" + body.dataset.at;
  const by = (id) => document.getElementById(id);
  const find = by("find"), note = by("note"), list = by("refs"), help = by("help");
  const steps = [...document.querySelectorAll(".step")];
  const values = [...document.querySelectorAll("[data-path]")];
  const draftOf = (trace, path) => "draft " + trace + " " + path;
  const trace = JSON.parse(body.dataset.trace), criterion = JSON.parse(body.dataset.criterion);
  const draft = draftOf(trace, cell);
  const place = "place " + body.dataset.trace;
  let label = body.dataset.label;
  let refs = JSON.parse(body.dataset.refs);
  let busy = false;
  let going = Promise.resolve();

  function tell(text, wrong) {
    by("status").textContent = text;
    by("status").classList.toggle("wrong", Boolean(wrong));
  }

  async function post(path, value) {
    let answer;
    try {
      answer = await fetch(path, { method: "POST", redirect: "error",
        headers: { "Content-Type": "application/json" }, body: JSON.stringify(value) });
    } catch {
      throw new Error("Not saved: the server does not answer. Start the same command again and open the address it prints; nothing that was saved is lost.");
    }
    if (answer.status === 403) {
      throw new Error("Not saved: the server was started anew. Open the address that it printed.");
    }
    const told = await answer.json().catch(() => ({ error: "the server broke" }));
    if (!answer.ok) throw new Error("Not saved: " + told.error);
    return told;
  }

  // What is not saved yet stays in this tab until it is.
  function keepDraft() {
    if (label) return;
    if (refs.length || note.value) sessionStorage.setItem(draft, JSON.stringify({ refs, note: note.value }));
    else sessionStorage.removeItem(draft);
  }

  function leave(path) {
    sessionStorage.setItem(place, scrollY);
    if (path === location.pathname) location.reload(); else location.assign(path);
  }

  function doing(work) {
    if (busy) return;
    busy = true;
    body.classList.add("busy");
    going = going.then(work).catch((error) => {
      tell(error.message, true);
      busy = false;
      body.classList.remove("busy");
    });
  }

  const given = (word) => ({ trace, criterion, label: word, refs, note: note.value.trim() || null });

  const give = (word) => doing(async () => {
    const told = await post(cell, given(word));
    sessionStorage.removeItem(draft);
    leave(told.next);
  });

  // Evidence and notes of a cell that has its label are saved on their own.
  function changed() {
    keepDraft();
    if (!label) return;
    going = going.then(() => post(cell, given(label))).then(() => tell("Saved."), (error) => tell(error.message, true));
  }

  const undo = () => doing(async () => {
    const told = await post("/undo", null);
    if (!told.next) throw new Error("There is nothing to undo.");
    // What the label was given with is kept, for the one that takes its place.
    if (told.draft) sessionStorage.setItem(draftOf(told.trace, told.next), JSON.stringify(told.draft));
    leave(told.next);
  });

  function walk(by) {
    const count = Number(body.dataset.count);
    doing(async () => leave("/cell/" + (Number(body.dataset.at) + by + count) % count));
  }

  // A value's text as the trace has it: an escape on the page stands for one character.
  function pieces(value) {
    const found = [];
    const texts = document.createTreeWalker(value, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const node = texts.currentNode, owner = node.parentElement;
      const escape = owner.classList.contains("esc");
      const raw = escape ? String.fromCodePoint(parseInt(node.data.slice(2), 16)) : node.data;
      found.push({ node, raw, escape, gap: owner.classList.contains("gap") });
    }
    return found;
  }

  const word = (character) => character !== undefined && /[\p{L}\p{N}_]/u.test(character);

  function cut(value, range) {
    let raw = "", from = -1, to = -1, gap = false;
    for (const piece of pieces(value)) {
      const { node } = piece, size = node.length;
      const start = node === range.startContainer ? range.startOffset : range.comparePoint(node, 0) < 0 ? size : 0;
      const end = node === range.endContainer ? range.endOffset : range.comparePoint(node, size) > 0 ? 0 : size;
      if (end > start) {
        gap = gap || piece.gap;
        if (from < 0) from = raw.length + (piece.escape ? 0 : start);
        to = raw.length + (piece.escape ? 1 : end);
      }
      raw += piece.raw;
    }
    if (from < 0) return null;
    if (gap) throw new Error("A part of this is not shown, so it cannot be cited.");
    if (value.classList.contains("literal")) return raw;
    while (from > 0 && word(raw[from - 1]) && word(raw[from])) from -= 1;
    while (to < raw.length && word(raw[to]) && word(raw[to - 1])) to += 1;
    return raw.slice(from, to).trim();
  }

  function add(value, text) {
    if ([...text].length > 200) throw new Error("Cite at most 200 characters.");
    const ref = { obs: JSON.parse(value.closest(".step").dataset.obs), path: JSON.parse(value.dataset.path), value: text };
    const cited = () => refs.some((r) => r.obs === ref.obs && r.path === ref.path && r.value === ref.value);
    const range = getSelection().rangeCount && !getSelection().isCollapsed ? getSelection().getRangeAt(0).cloneRange() : null;
    going = going.then(() => post(cell + "/evidence", ref)).then((told) => {
      if (cited()) return;
      refs = [...refs, ref];
      if (range && window.Highlight) {
        if (!CSS.highlights.has("cited")) CSS.highlights.set("cited", new Highlight());
        CSS.highlights.get("cited").add(range);
      }
      show(ref, told.match === "weak" ? "weak: short, common, or only bookkeeping" : "");
      tell("Cited.");
      changed();
    }, (error) => tell(error.message.replace("Not saved: ", ""), true));
  }

  function show(ref, remark) {
    const item = document.createElement("li"), quote = document.createElement("q");
    const at = document.createElement("span"), path = document.createElement("code"), drop = document.createElement("button");
    item.className = "ev";
    quote.textContent = plain(ref.value);
    path.textContent = plain(ref.path);
    at.className = "at";
    at.append(path, remark ? " " + remark : "");
    drop.type = "button";
    drop.className = "drop";
    drop.setAttribute("aria-label", "Remove this evidence");
    drop.textContent = "✕";
    item.append(quote, " ", at, drop);
    list.append(item);
  }

  const plain = (text) => text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (c) =>
    c === "\n" || c === "\t" ? c : "\\u" + c.codePointAt(0).toString(16).padStart(4, "0"));

  function cite() {
    const selection = getSelection();
    if (!selection.rangeCount || selection.isCollapsed) return false;
    const range = selection.getRangeAt(0);
    const touched = values.filter((v) => range.intersectsNode(v)).map((v) => [v, () => cut(v, range)]);
    try {
      const found = touched.map(([v, text]) => [v, text()]).filter(([, text]) => text);
      if (found.length > 1) throw new Error("Select within one value.");
      if (!found.length) return false;
      add(...found[0]);
    } catch (error) { tell(error.message, true); }
    return true;
  }

  // Without a selection, the first text of the step one is at, as much as may be cited.
  function citeStep() {
    const at = steps.find((s) => s.classList.contains("here"));
    const value = at && at.querySelector("[data-path]");
    if (!value) { tell("Select text, or go to a step with j and k.", true); return; }
    const raw = pieces(value).map((p) => (p.gap ? "" : p.raw)).join("");
    const head = [...raw.trim()].slice(0, 200).join("");
    try { add(value, raw.trim() === head ? head : head.replace(/[\p{L}\p{N}_]+$/u, "").trim()); }
    catch (error) { tell(error.message, true); }
  }

  function toStep(by) {
    const at = steps.findIndex((s) => s.classList.contains("here"));
    const next = steps[at < 0 ? (by > 0 ? 0 : steps.length - 1) : Math.min(Math.max(at + by, 0), steps.length - 1)];
    if (!next) return;
    getSelection().removeAllRanges();
    for (const s of steps) s.classList.toggle("here", s === next);
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }

  let hits = [], hit = -1;
  function search() {
    const wanted = find.value.toLowerCase();
    hits = [];
    hit = -1;
    for (const value of wanted ? values : []) {
      for (const { node } of pieces(value)) {
        const text = node.data.toLowerCase();
        for (let at = text.indexOf(wanted); at >= 0; at = text.indexOf(wanted, at + wanted.length)) {
          const range = new Range();
          range.setStart(node, at);
          range.setEnd(node, Math.min(at + wanted.length, node.length));
          hits.push(range);
        }
      }
    }
    if (window.Highlight) CSS.highlights.set("found", new Highlight(...hits));
    if (wanted) toHit(1); else { by("found").textContent = ""; if (window.Highlight) CSS.highlights.delete("found-here"); }
  }

  function toHit(by_) {
    if (!hits.length) { by("found").textContent = "none"; return; }
    hit = (hit + by_ + hits.length) % hits.length;
    const owner = hits[hit].startContainer.parentElement;
    for (let at = owner; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    owner.scrollIntoView({ block: "center" });
    if (window.Highlight) CSS.highlights.set("found-here", new Highlight(hits[hit]));
    by("found").textContent = hit + 1 + " of " + hits.length;
  }

  const keys = {
    1: () => give("pass"), 2: () => give("fail"), d: () => give("cannot-decide"), u: undo,
    n: () => walk(1), p: () => walk(-1), j: () => toStep(1), k: () => toStep(-1),
    e: () => cite() || citeStep(), m: () => note.focus(),
    "/": () => { find.focus(); find.select(); },
    "?": () => (help.open ? help.close() : help.showModal()),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target === find) {
      if (event.key === "Enter") { event.preventDefault(); toHit(event.shiftKey ? -1 : 1); }
      if (event.key === "Escape") { find.value = ""; search(); find.blur(); }
      return;
    }
    if (event.target === note) {
      if (event.key === "Escape") note.blur();
      return;
    }
    const pressed = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!pressed || (help.open && event.key !== "?")) return;
    event.preventDefault();
    if (!event.repeat || "jk".includes(event.key)) pressed();
  });
  document.addEventListener("pointerup", (event) => {
    if (event.target.closest && event.target.closest(".trace")) setTimeout(cite);
  });
  // A press on the button must not take the selection away that it is about.
  by("cite").addEventListener("pointerdown", (event) => event.preventDefault());
  by("cite").addEventListener("click", keys.e);
  for (const button of document.querySelectorAll("[data-word]")) button.addEventListener("click", () => give(button.dataset.word));
  list.addEventListener("click", (event) => {
    const item = event.target.closest(".drop") && event.target.closest(".ev");
    if (!item) return;
    const at = [...list.children].indexOf(item);
    refs = refs.filter((_, i) => i !== at);
    item.remove();
    changed();
  });
  find.addEventListener("input", search);
  note.addEventListener("input", keepDraft);
  note.addEventListener("change", changed);
  by("back").addEventListener("click", () => walk(-1));
  by("on").addEventListener("click", () => walk(1));
  by("undo").addEventListener("click", undo);
  by("keys").addEventListener("click", keys["?"]);
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });

  const kept = label ? null : JSON.parse(sessionStorage.getItem(draft));
  if (kept) {
    refs = kept.refs;
    note.value = kept.note;
    for (const ref of refs) show(ref, "");
  }
  // Beside a trace the criterion stays in view; above it, it is what one starts from.
  if (matchMedia("(min-width: 60rem)").matches) scrollTo(0, Number(sessionStorage.getItem(place)) || 0);
})();
