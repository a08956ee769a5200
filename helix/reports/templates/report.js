"use strict";
(() => {
  const root = document.documentElement;
  const byId = (id) => (id ? document.getElementById(id) : null);
  const each = (selector, within = document) => [...within.querySelectorAll(selector)];
  const views = each("main > [data-view]");
  const tabs = each("header nav a[href^='#']");
  const list = byId("list");
  const live = byId("live");
  const search = byId("search");
  const clear = byId("clear");
  const help = byId("help");
  const states = each("[data-filter]");
  const choices = each("select[data-by]");
  const wanted = { state: "", criterion: "", route: "", cause: "", change: "" };
  const wide = matchMedia("(min-width: 60.01rem)");
  let current = null;
  root.classList.add("scripted");
  history.scrollRestoration = "manual";

  const opened = () => (current && current.isConnected && current.open && !current.hidden ? current : null);

  // Views: with a script one part of the page shows at a time; without, all of them in turn.

  function show(element) {
    const section = element && element.closest("[data-view]");
    if (!section) return;
    for (const view of views) view.hidden = view.dataset.view !== section.dataset.view;
    const of = (tab) => byId(tab.getAttribute("href").slice(1)).closest("[data-view]");
    const here = tabs.filter((tab) => of(tab).dataset.view === section.dataset.view);
    const now = here.find((tab) => of(tab) === section) || here[0];
    for (const tab of tabs) {
      if (tab === now) tab.setAttribute("aria-current", "true");
      else tab.removeAttribute("aria-current");
    }
  }

  function unfold(element) {
    for (let at = element; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  }

  // Open a trajectory, and go on with its element once its steps are there.
  function open(entry, then) {
    show(list);
    trajectories.reach(entry, (element) => {
      for (const other of each(".traj[open]", list)) if (other !== element) other.open = false;
      element.open = true;
      current = element;
      then(element);
    });
  }

  function dim() {
    for (const hit of each(".hit, .ev.active")) hit.classList.remove("hit", "active");
  }

  function highlight(element) {
    const marks = element.tagName === "MARK" || element.tagName === "I"
      ? each("mark[data-m~='" + element.id + "']") : [element];
    for (const mark of marks) mark.classList.add("hit");
    element.scrollIntoView({ block: "center" });
  }

  // Anchors are places in this file; the address bar names the trace, criterion and step instead,
  // so that a link still leads there after the run was repeated.

  function addressOf(target, link) {
    const trajectory = target.closest(".traj");
    if (!trajectory) return null;
    if (link && !link.closest(".traj") && target.id) {
      link = trajectory.querySelector(".cell a.to[href='#" + target.id + "']");
    }
    const parts = new URLSearchParams({ trace: trajectory.dataset.trace });
    const step = target.closest(".step");
    if (step) parts.set("step", step.dataset.n || step.id.split("-").pop());
    const cell = target.closest(".cell") || (link && link.closest(".cell"));
    if (cell) {
      parts.set("criterion", cell.dataset.criterion);
      const at = link ? each(".to", cell).indexOf(link) : -1;
      if (at >= 0) parts.set("evidence", at + 1);
    }
    return "#" + parts;
  }

  function follow() {
    const hash = location.hash.slice(1);
    dim();
    if (hash.startsWith("trace=")) { followTrace(new URLSearchParams(hash)); return; }
    const entry = /^t\d/.test(hash) && trajectories.at(hash);
    if (entry) {
      if (trajectories.away(entry, location.hash, true)) return;
      open(entry, (element) => { const place = byId(hash) || element; unfold(place); highlight(place); });
      return;
    }
    const plain = byId(hash) || views[0] || list;
    show(plain);
    unfold(plain);
    if (plain === views.find((view) => !view.hidden)) scrollTo(0, 0);
    else if (hash) plain.scrollIntoView();
  }

  function followTrace(parts) {
    const entry = trajectories.named(parts.get("trace"));
    if (!entry) { show(list); tell("This page has no such trace."); return; }
    if (trajectories.away(entry, location.hash, true)) return;
    open(entry, (trajectory) => {
      const step = each(".step", trajectory).find(
        (s) => s.dataset.n === parts.get("step") || s.id.endsWith("-" + parts.get("step")));
      const cell = each(".cell", trajectory).find((c) => c.dataset.criterion === parts.get("criterion"));
      const link = cell && parts.has("evidence") ? each(".to", cell)[Number(parts.get("evidence")) - 1] : null;
      if (cell) { unfold(cell); cell.classList.add("hit"); }
      if (link && link.closest(".ev")) link.closest(".ev").classList.add("active");
      const target = (link && byId(link.getAttribute("href").slice(1))) || step || cell;
      if (!target) { trajectory.scrollIntoView(); return; }
      unfold(target);
      if (target === cell) trajectory.scrollIntoView();
      if (cell) cell.scrollIntoView({ block: "nearest" });
      if (target !== cell) highlight(target);
      // Where both stand side by side, what was chosen stays in sight beside what it leads to.
      if (link && wide.matches) link.scrollIntoView({ block: "nearest" });
    });
  }

  function go(address) {
    if (location.hash !== address) {
      history.replaceState({ y: scrollY }, "");
      history.pushState(null, "", address);
    }
    follow();
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const anchor = link.getAttribute("href").slice(1);
    const { criterion, route, change, filterTo } = link.dataset;
    if (criterion !== undefined && link.closest("table")) {
      choose({ state: filterTo || "", criterion, route: route || "", change: change || "" });
    }
    event.preventDefault();
    const entry = /^t\d/.test(anchor) && trajectories.at(anchor);
    if (!entry) { go("#" + anchor); return; }
    if (trajectories.away(entry, "#" + anchor)) return;
    trajectories.reach(entry, (element) => {
      const target = byId(anchor) || element;
      go(addressOf(target, link));
      if (link.closest(".walk")) highlight(target);
    });
  });
  list.addEventListener("toggle", (event) => {
    if (!event.target.classList.contains("traj") || !event.target.open || event.target === current) return;
    current = event.target;
    trajectories.reach(trajectories.of(current), () => {});
  }, true);
  addEventListener("popstate", (event) => {
    follow();
    if (event.state && "y" in event.state) scrollTo(0, event.state.y);
  });

  // The list: what it is narrowed to, and how many are left.

  function tell(text) {
    if (live) live.textContent = text;
  }

  function matches({ standing, marks = "", route = "", causes = "", change = "" }) {
    const mark = wanted.criterion === "" ? null : marks[Number(wanted.criterion)];
    if (mark && ".n".includes(mark) && wanted.state !== "na") return false;
    if (wanted.state && (mark ? mark !== wanted.state[0] : standing !== wanted.state)) return false;
    if (wanted.route && route !== wanted.route) return false;
    if (wanted.cause && !causes.split(" ").includes(wanted.cause)) return false;
    const changes = change.split(" ").filter(Boolean);
    if (wanted.change === "any") return changes.some((word) => word !== "known");
    return !wanted.change || changes.includes(wanted.change);
  }

  function sift() {
    if (!search) return;
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const button of states) button.setAttribute("aria-pressed", String(button.dataset.filter === wanted.state));
    for (const choice of choices) choice.value = wanted[choice.dataset.by];
    clear.hidden = !words.length && !Object.values(wanted).some(Boolean);
    const all = trajectories.all();
    trajectories.search(all.filter((entry) => matches(entry.data)), words, (found, done) => {
      trajectories.draw(found);
      const listed = found.length + " of " + all.length + " listed";
      tell(!done ? listed + " so far" : found.length || !all.length ? listed : "Nothing matches.");
    });
  }

  function choose(what) {
    if (!search) return;
    search.value = "";
    for (const name of Object.keys(wanted)) wanted[name] = what[name] || "";
    sift();
  }

  for (const button of states) {
    button.addEventListener("click", () => { wanted.state = button.dataset.filter; sift(); });
  }
  for (const choice of choices) {
    choice.addEventListener("change", () => { wanted[choice.dataset.by] = choice.value; sift(); });
  }
  if (search) {
    let typed = 0;
    search.addEventListener("input", () => { clearTimeout(typed); typed = setTimeout(sift, 120); });
    clear.addEventListener("click", () => { choose({}); search.focus(); });
  }

  // Keys.

  function stepTo(items, by, at) {
    if (!items.length) return null;
    const next = at < 0 ? (by > 0 ? 0 : items.length - 1) : Math.min(Math.max(at + by, 0), items.length - 1);
    return items[next];
  }

  function nextTrajectory(by) {
    if (trajectories.beyond(by)) return;
    const shown = trajectories.shown();
    const entry = stepTo(shown, by, shown.indexOf(trajectories.of(current)));
    if (!entry || trajectories.away(entry, "")) return;
    trajectories.reach(entry, (found) => {
      go(addressOf(found, null));
      found.querySelector("summary").focus({ preventScroll: true });
      found.scrollIntoView();
    });
  }

  function nextStep(by) {
    const steps = opened() ? each(".step", current) : [];
    const found = stepTo(steps, by, steps.findIndex((s) => s.classList.contains("at")));
    if (!found) return;
    for (const s of steps) s.classList.toggle("at", s === found);
    go(addressOf(found, null));
    found.focus({ preventScroll: true });
  }

  function nextEvidence() {
    const links = opened() ? each(".ev a.to", current) : [];
    const at = links.findIndex((l) => l.closest(".ev").classList.contains("active"));
    const link = links[(at + 1) % links.length];
    if (!link) return;
    go(addressOf(byId(link.getAttribute("href").slice(1)), link));
    link.focus({ preventScroll: true });
  }

  function walk() {
    const found = opened() && current.querySelector(".walk");
    if (!found) return;
    found.open = !found.open;
    found.querySelector("summary").focus({ preventScroll: true });
    found.scrollIntoView({ block: found.open ? "start" : "nearest" });
  }

  function back() {
    if (!opened()) return;
    current.open = false;
    dim();
    current.querySelector("summary").focus();
    history.pushState(null, "", "#trajectories");
  }

  const keys = {
    j: () => nextTrajectory(1),
    k: () => nextTrajectory(-1),
    n: () => nextStep(1),
    p: () => nextStep(-1),
    e: nextEvidence,
    w: walk,
    f: () => { show(list); wanted.state = wanted.state === "fail" ? "" : "fail"; sift(); },
    "/": () => { show(list); if (search) search.focus(); },
    "?": () => (help.open ? help.close() : help.showModal()),
    Escape: back,
  };
  tabs.forEach((tab, at) => { keys[at + 1] = () => { go(tab.getAttribute("href")); tab.focus(); }; });
  document.addEventListener("keydown", (event) => {
    if (event.target === search && event.key === "Escape") { search.value = ""; sift(); search.blur(); return; }
    if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|SELECT/.test(event.target.tagName)) return;
    if (help.open && event.key !== "?") return;
    if (Object.hasOwn(keys, event.key)) { event.preventDefault(); keys[event.key](); }
  });
  byId("keys").addEventListener("click", keys["?"]);
  byId("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  // In a table of cells the arrows move, and Tab passes by.

  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  function beside(cell, [across, down]) {
    const rows = [...cell.closest("tbody").rows];
    let at = cell.cellIndex;
    let row = rows.indexOf(cell.parentElement);
    for (;;) {
      at += across;
      row += down;
      const next = rows[row] && rows[row].cells[at];
      if (!next) return null;
      const link = next.querySelector("a");
      if (link) return link;
    }
  }
  for (const grid of each("table.grid")) {
    let stop = null;
    for (const link of each("td a", grid)) {
      link.tabIndex = stop ? -1 : 0;
      stop = stop || link;
    }
    grid.addEventListener("focusin", (event) => {
      if (!event.target.closest("td a")) return;
      stop.tabIndex = -1;
      stop = event.target;
      stop.tabIndex = 0;
    });
    grid.addEventListener("keydown", (event) => {
      const cell = event.target.closest("td");
      const link = cell && ARROWS[event.key] ? beside(cell, ARROWS[event.key]) : null;
      if (link) { event.preventDefault(); link.focus(); }
    });
  }

  let shut = [];
  let away = [];
  addEventListener("beforeprint", () => {
    away = views.filter((view) => view.hidden);
    shut = each("details.traj.fail:not([open])", list);
    for (const view of away) view.hidden = false;
    for (const t of shut) t.open = true;
  });
  addEventListener("afterprint", () => {
    for (const view of away) view.hidden = true;
    for (const t of shut) t.open = false;
  });

  current = list.querySelector("details.traj[open]");
  trajectories.start(() => { sift(); follow(); });
})();
