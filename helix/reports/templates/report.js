"use strict";
(() => {
  const root = document.documentElement;
  const list = document.getElementById("list");
  const live = document.getElementById("live");
  const search = document.getElementById("search");
  const help = document.getElementById("help");
  const filters = [...document.querySelectorAll("[data-filter]")];
  let wanted = "";
  let current = null; // the entry that is open, in the list of trajectories (report-list.js)
  root.classList.add("scripted");

  const opened = () => (current && current.element && current.element.open ? current.element : null);
  const byId = (id) => (id ? document.getElementById(id) : null);

  function unfold(element) {
    for (let at = element; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  }

  function open(entry, then) {
    trajectories.reach(entry, (trajectory) => {
      for (const other of list.querySelectorAll("details.traj[open]")) {
        if (other !== trajectory) other.open = false;
      }
      trajectory.open = true;
      current = entry;
      then(trajectory);
    });
  }

  function clear() {
    for (const hit of document.querySelectorAll(".hit, .ev.active")) hit.classList.remove("hit", "active");
  }

  function highlight(element) {
    const marks = element.tagName === "MARK" || element.tagName === "I"
      ? [...document.querySelectorAll("mark[data-m~='" + element.id + "']")] : [element];
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
      const at = link ? [...cell.querySelectorAll(".to")].indexOf(link) : -1;
      if (at >= 0) parts.set("evidence", at + 1);
    }
    return "#" + parts;
  }

  function follow() {
    const hash = location.hash.slice(1);
    clear();
    if (!hash.startsWith("trace=")) {
      const entry = trajectories.at(hash);
      if (!entry || trajectories.away(entry, location.hash, true)) return;
      open(entry, () => { const plain = byId(hash); if (plain) { unfold(plain); highlight(plain); } });
      return;
    }
    const parts = new URLSearchParams(hash);
    const entry = trajectories.named(parts.get("trace"));
    if (entry && !trajectories.away(entry, location.hash, true)) open(entry, (found) => point(found, parts));
  }

  // Lead to the step, criterion and evidence that an address names in a trajectory.
  function point(trajectory, parts) {
    const step = [...trajectory.querySelectorAll(".step")].find(
      (s) => s.dataset.n === parts.get("step") || s.id.endsWith("-" + parts.get("step")));
    const cell = [...trajectory.querySelectorAll(".cell")].find(
      (c) => c.dataset.criterion === parts.get("criterion"));
    const link = cell && parts.has("evidence")
      ? cell.querySelectorAll(".to")[Number(parts.get("evidence")) - 1] : null;
    if (cell) { unfold(cell); cell.classList.add("hit"); }
    if (link && link.closest(".ev")) link.closest(".ev").classList.add("active");
    const target = (link && byId(link.getAttribute("href").slice(1))) || step || cell;
    if (!target) { trajectory.scrollIntoView(); return; }
    unfold(target);
    if (target === cell) trajectory.scrollIntoView();
    if (cell) cell.scrollIntoView({ block: "nearest" });
    if (target !== cell) highlight(target);
  }

  function go(address) {
    if (location.hash !== address) history.pushState(null, "", address);
    follow();
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const anchor = link.getAttribute("href").slice(1);
    const entry = trajectories.at(anchor);
    if (!entry) return;
    event.preventDefault();
    if (trajectories.away(entry, "#" + anchor)) return;
    trajectories.reach(entry, () => {
      const target = byId(anchor);
      const address = target && addressOf(target, link);
      if (address) go(address);
    });
  });
  list.addEventListener("toggle", (event) => {
    if (!event.target.classList.contains("traj") || !event.target.open) return;
    const entry = trajectories.of(event.target);
    if (entry === current) return;
    current = entry;
    trajectories.reach(entry, () => {});
  }, true);
  addEventListener("popstate", follow);
  addEventListener("hashchange", follow);

  function sift() {
    const words = search ? search.value.toLowerCase().split(/\s+/).filter(Boolean) : [];
    const all = trajectories.all();
    const fitting = all.filter((entry) => wanted === "" || entry.data.standing === wanted);
    for (const button of filters) button.setAttribute("aria-pressed", String(button.dataset.filter === wanted));
    trajectories.search(fitting, words, (found, done) => {
      trajectories.draw(found);
      if (!live) return;
      const told = found.length + " of " + all.length + " listed" + (done ? "" : ", still reading");
      live.textContent = found.length || !all.length || !done ? told : "Nothing matches.";
    });
  }
  for (const button of filters) button.addEventListener("click", () => { wanted = button.dataset.filter; sift(); });
  if (search) search.addEventListener("input", sift);

  function stepTo(items, by, at) {
    if (!items.length) return null;
    const next = at < 0 ? (by > 0 ? 0 : items.length - 1) : Math.min(Math.max(at + by, 0), items.length - 1);
    return items[next];
  }

  function nextTrajectory(by) {
    if (trajectories.beyond(by)) return;
    const shown = trajectories.shown();
    const found = stepTo(shown, by, shown.indexOf(current));
    if (!found || trajectories.away(found, "")) return;
    trajectories.reach(found, (element) => {
      go(addressOf(element, null));
      element.querySelector("summary").focus({ preventScroll: true });
      element.scrollIntoView();
    });
  }

  function nextStep(by) {
    const steps = opened() ? [...opened().querySelectorAll(".step")] : [];
    const found = stepTo(steps, by, steps.findIndex((s) => s.classList.contains("at")));
    if (!found) return;
    for (const s of steps) s.classList.toggle("at", s === found);
    go(addressOf(found, null));
    found.focus({ preventScroll: true });
  }

  function nextEvidence() {
    const links = opened() ? [...opened().querySelectorAll(".ev a.to")] : [];
    const at = links.findIndex((l) => l.closest(".ev").classList.contains("active"));
    const link = links[(at + 1) % links.length];
    if (!link) return;
    go(addressOf(byId(link.getAttribute("href").slice(1)), link));
    link.focus({ preventScroll: true });
  }

  const keys = {
    j: () => nextTrajectory(1),
    k: () => nextTrajectory(-1),
    n: () => nextStep(1),
    p: () => nextStep(-1),
    e: nextEvidence,
    f: () => { wanted = wanted === "fail" ? "" : "fail"; sift(); },
    "/": () => search && search.focus(),
    "?": () => (help.open ? help.close() : help.showModal()),
  };
  document.addEventListener("keydown", (event) => {
    if (search && event.target === search && event.key === "Escape") { search.value = ""; sift(); search.blur(); }
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "INPUT") return;
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
  document.getElementById("keys").addEventListener("click", keys["?"]);
  document.getElementById("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  let before = [];
  addEventListener("beforeprint", () => {
    before = [...list.querySelectorAll("details.traj:not([open])[data-standing=fail]")];
    for (const t of before) t.open = true;
  });
  addEventListener("afterprint", () => { for (const t of before) t.open = false; });

  trajectories.start(() => { sift(); follow(); });
})();
