// The reader: loads more lines while one scrolls, jumps by buttons and keys, opens what an address points into.
"use strict";
(() => {
  const reader = document.querySelector(".reader");
  if (!reader) return;
  const entries = document.getElementById("entries");
  const notice = document.getElementById("said-here");
  const bar = reader.querySelector(".bar");
  const live = reader.dataset.key ? `/session/${reader.dataset.key}/read` : null; // a file has everything already
  const MOST_PAGES = 10; // in the document at once: more would make scrolling slow
  const jumps = { p: "prompt", e: "error", d: "edit", c: "compaction" };

  const articles = () => [...entries.querySelectorAll("article.entry")];
  const bars = [document.querySelector("header.top"), bar].filter(Boolean);
  const top = () => Math.max(...bars.map((each) => each.getBoundingClientRect().bottom)) + 24; // a jump ends just above it

  let jumped = { to: null, top: 0 };

  /** The line that is being read: where one jumped last or the focused entry, if it is in view, else the first below the bar. */
  function current() {
    const stayed = jumped.to?.isConnected && Math.abs(jumped.to.getBoundingClientRect().top - jumped.top) < 60 ? jumped.to : null;
    const focused = document.activeElement?.closest?.("article.entry") ?? stayed;
    const box = focused?.getBoundingClientRect();
    if (box && box.bottom > 0 && box.top < innerHeight) return focused;
    return articles().find((each) => each.getBoundingClientRect().bottom > top());
  }

  function reveal(article, focus = true) {
    for (let at = article.parentElement.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
    article.scrollIntoView({ block: "start" });
    if (focus) article.focus({ preventScroll: true });
    jumped = { to: article, top: article.getBoundingClientRect().top };
  }

  /** Go to the line of the address; a line that is not loaded is asked for. */
  function follow() {
    const line = /^#L(\d+)$/.exec(location.hash)?.[1];
    if (!line) return;
    const article = document.getElementById(`L${line}`) ?? nearest(Number(line));
    if (article) reveal(article);
    else if (live) location.replace(`${live}?line=${line}#L${line}`);
  }

  /** A line without anything to show has no entry: take the next one, if its page is loaded. */
  function nearest(line) {
    const all = articles();
    if (!all.length || Number(all[0].dataset.line) > line || Number(all.at(-1).dataset.line) < line) return null;
    return all.find((each) => Number(each.dataset.line) >= line);
  }

  function jump(mark, isBack) {
    const here = current();
    const all = articles();
    const at = here ? all.indexOf(here) : -1;
    const rest = isBack ? all.slice(0, Math.max(0, at)).reverse() : all.slice(at + 1);
    const there = rest.find((each) => each.dataset.marks.split(" ").includes(mark));
    if (there) {
      notice.textContent = "";
      reveal(there);
      history.replaceState(null, "", `#${there.id}`);
      return;
    }
    const edge = isBack ? all[0] : all.at(-1);
    if (!live || (isBack ? !section(true).dataset.previous : !section(false).dataset.next)) {
      notice.textContent = `There is no ${mark} further in that direction.`;
      return;
    }
    notice.textContent = `Looking for the ${isBack ? "previous" : "next"} ${mark} …`;
    location.assign(`${live}/jump?to=${mark}&from=${edge?.dataset.line ?? 1}${isBack ? "&back=1" : ""}`);
  }

  const section = (isFirst) => (isFirst ? entries.firstElementChild : entries.lastElementChild);

  let busy = false;
  async function load(isEarlier) {
    const edge = section(isEarlier);
    const from = isEarlier ? edge.dataset.previous : edge.dataset.next;
    if (busy || !from) return;
    busy = true;
    try {
      const answer = await fetch(`${live}/part?${isEarlier ? "before" : "line"}=${from}`);
      if (!answer.ok) throw new Error(String(answer.status));
      const page = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("section.page");
      place(page, isEarlier);
    } catch {
      notice.textContent = "More lines could not be loaded. Is leftoff web still running?";
    } finally {
      busy = false;
    }
    watch();
  }

  function place(page, isEarlier) {
    const anchor = current();
    const before = anchor?.getBoundingClientRect().top;
    if (isEarlier) entries.prepend(page);
    else if (page.querySelector("article")) entries.append(page);
    else section(false).dataset.next = "";
    if (entries.children.length > MOST_PAGES) section(!isEarlier).remove();
    if (anchor?.isConnected) scrollBy(0, anchor.getBoundingClientRect().top - before);
    document.getElementById("total").textContent = Number(page.dataset.total).toLocaleString("en");
    for (const [name, isFirst] of [["earlier", true], ["later", false]]) {
      const line = isFirst ? section(true).dataset.previous : section(false).dataset.next;
      const link = document.createElement(line ? "a" : "span");
      if (line) link.href = `${live}?line=${isFirst ? Math.max(1, line - 100) : line}`;
      link.textContent = line ? `${isFirst ? "Earlier" : "Later"} lines` : `The transcript ${isFirst ? "begins" : "ends"} here`;
      link.className = line ? "" : "muted";
      document.getElementById(name).replaceChildren(link);
    }
  }

  const sentinel = live && new IntersectionObserver((seen) => {
    for (const each of seen) if (each.isIntersecting) load(each.target.id === "earlier");
  }, { rootMargin: "900px 0px" });

  /** Observe again: what is still in view after a page was added must load the next one. */
  function watch() {
    if (!sentinel) return;
    for (const id of ["earlier", "later"]) {
      const more = document.getElementById(id);
      sentinel.unobserve(more);
      sentinel.observe(more);
    }
  }

  reader.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-to]");
    if (!link) return;
    event.preventDefault();
    jump(link.dataset.to, Boolean(link.dataset.back));
  });
  reader.querySelector(".goto")?.addEventListener("submit", (event) => {
    const line = Number(event.target.elements.line.value);
    if (!line) return;
    event.preventDefault();
    location.hash = `#L${line}`;
    follow();
  });
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog[open]")) return;
    const mark = jumps[event.key.toLowerCase()];
    if (mark) jump(mark, event.shiftKey);
    else if (event.key === "o") {
      const all = [...entries.querySelectorAll("details.part")];
      const open = !all.some((each) => each.open);
      for (const each of all) each.open = open;
    } else if (event.key === "l" && bar?.querySelector("input")) bar.querySelector("input").select();
    else return;
    event.preventDefault();
  });
  addEventListener("hashchange", follow);
  follow();
  setTimeout(watch, 300); // not before the browser has gone to the line of the address
})();
