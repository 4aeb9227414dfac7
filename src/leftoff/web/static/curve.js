// The curve of a context window: an exact line over estimated areas, marks where something was lost, and growth while the agent works.
"use strict";

const box = document.getElementById("curve");
const [readout, now, legend, areasBox] = ["readout", "now", "legend", "areas"].map((id) => document.getElementById(id));
const number = new Intl.NumberFormat("en-US");
const short = (tokens) => (tokens >= 1e6 ? `${(tokens / 1e6).toFixed(1)}m` : tokens >= 1000 ? `${Math.round(tokens / 1000)}k` : `${tokens}`);
const MARKS = { compaction: "compacted", "idle compaction": "compacted while idle", "results cleared": "results cleared", trim: "trimmed copy", continued: "continued in a fresh session", fork: "forked", pause: "paused" };
let curve = null, plot = null, at = -1, shownKinds = [];

function colours() {
  const probe = document.createElement("i");
  box.append(probe);
  const read = (name) => { probe.style.color = name; return getComputedStyle(probe).color; };
  const found = Object.fromEntries(["text", "muted", "line", "accent", "caution", "warning", "critical", "panel"].map((name) => [name, read(`var(--${name})`)]));
  found.kinds = curve.kinds.map((_, kind) => { probe.className = `kind-${kind}`; return read("var(--fill)"); });
  probe.remove();
  return found;
}

function columns() {
  const xs = curve.tokens.map((_, i) => i + 1);
  const stacked = [];
  let below = curve.tokens.map(() => 0);
  for (const part of curve.parts) { below = below.map((sum, i) => sum + part[i]); stacked.push(below); }
  return [xs, curve.tokens, ...stacked.reverse()];
}

function ceiling() {
  const most = curve.tokens.reduce((a, b) => Math.max(a, b), 0);
  return Math.max(curve.status.budget ?? 0, most) * 1.04 || 1;
}

function drawLevels(u) {
  const { ctx, bbox } = u, colour = u.colours, { levels, budget } = curve.status;
  const ratio = devicePixelRatio, size = parseFloat(getComputedStyle(box).fontSize) * 0.78 * ratio;
  ctx.save();
  ctx.font = `${size}px ${getComputedStyle(box).fontFamily}`;
  const bounds = [...levels.map((each) => each.tokens), Math.max(budget ?? 0, ceiling())];
  levels.forEach((each, i) => {
    const [y, above] = [u.valToPos(each.tokens, "y", true), u.valToPos(bounds[i + 1], "y", true)];
    ctx.fillStyle = ctx.strokeStyle = [colour.caution, colour.warning, colour.warning, colour.critical][i];
    ctx.globalAlpha = 0.05 + 0.03 * i;
    ctx.fillRect(bbox.left, above, bbox.width, y - above);
    ctx.globalAlpha = 0.75;
    ctx.setLineDash([3 * ratio, 4 * ratio]);
    ctx.beginPath(); ctx.moveTo(bbox.left, y); ctx.lineTo(bbox.left + bbox.width, y); ctx.stroke();
    ctx.globalAlpha = 1;
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    ctx.fillText(`${Math.round((each.tokens / budget) * 100)} %`, bbox.left + bbox.width + 5 * ratio, y);
  });
  ctx.restore();
}

function drawMarks(u) {
  const { ctx, bbox } = u, ratio = devicePixelRatio;
  ctx.save();
  for (const mark of curve.marks) {
    const x = u.valToPos(mark.request + 0.5, "x", true);
    if (x < bbox.left - 1 || x > bbox.left + bbox.width + 1) continue;
    ctx.strokeStyle = ctx.fillStyle = mark.kind.includes("compaction") ? u.colours.critical : u.colours.text;
    ctx.lineWidth = 1.5 * ratio;
    ctx.setLineDash(mark.kind === "pause" ? [2 * ratio, 3 * ratio] : []);
    ctx.beginPath(); ctx.moveTo(x, bbox.top); ctx.lineTo(x, bbox.top + bbox.height); ctx.stroke();
    ctx.setLineDash([]);
    ctx.beginPath(); ctx.moveTo(x - 5 * ratio, bbox.top); ctx.lineTo(x + 5 * ratio, bbox.top); ctx.lineTo(x, bbox.top + 8 * ratio); ctx.fill();
  }
  ctx.restore();
}

function options() {
  const colour = colours(), count = curve.kinds.length, size = parseFloat(getComputedStyle(box).fontSize) * 0.85;
  const axis = { stroke: colour.muted, font: `${size}px ${getComputedStyle(box).fontFamily}`, ticks: { stroke: colour.line, width: 1 } };
  const areas = curve.kinds.map((_, i) => count - 1 - i).map((kind) => ({ fill: colour.kinds[kind], width: 0, points: { show: false }, show: areasBox.checked }));
  return {
    width: box.clientWidth, height: box.clientHeight, padding: [8, size * 3.2, 0, 0], legend: { show: false },
    scales: { x: { time: false, range: (u, min, max) => (min === max ? [min - 0.6, max + 0.6] : [min, max]) }, y: { range: () => [0, ceiling()] } },
    axes: [
      { ...axis, grid: { show: false }, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000], size: size * 2.2, label: "request", labelFont: axis.font, labelSize: size * 1.5 },
      { ...axis, grid: { stroke: colour.line, width: 1 }, values: (u, ticks) => ticks.map(short), size: size * 3.8 },
    ],
    // Drawn from the largest sum to the smallest, the line last.
    series: [{}, { stroke: "transparent", points: { show: false } }, ...areas, { stroke: colour.text, width: 2, points: { show: () => curve.tokens.length < 40, size: 5, fill: colour.text } }],
    cursor: { y: false, points: { size: 8 }, focus: { prox: -1 } },
    hooks: {
      drawAxes: [drawLevels], draw: [drawMarks],
      setCursor: [(u) => { if (u.cursor.idx != null && u.cursor.idx !== at) { at = u.cursor.idx; describe(); } }],
    },
  };
}

function data() { const found = columns(); return [...found, curve.tokens]; }

function draw() {
  plot?.destroy();
  box.querySelector(".waiting")?.remove();
  const found = options();
  plot = new uPlot({ ...found, hooks: { ...found.hooks, init: [(u) => { u.colours = colours(); }] } }, data(), box);
  drawLegend();
  drawEvents();
  describe();
}

function drawLegend() {
  shownKinds = curve.kinds.map((_, kind) => kind).filter((kind) => curve.parts[kind].some(Boolean));
  legend.replaceChildren(...shownKinds.map((kind) => {
    const row = document.createElement("li"), swatch = document.createElement("span"), amount = document.createElement("span");
    swatch.className = `swatch kind-${kind}`;
    amount.className = "amount";
    row.append(swatch, curve.kinds[kind], amount);
    return row;
  }));
}

/** List the marks. Rows that are there stay the same elements, so that a link that is being used stays under the hand. */
function drawEvents() {
  const body = document.querySelector("#events tbody"), known = (tokens) => (tokens == null ? "?" : number.format(tokens));
  document.getElementById("events").hidden = !curve.marks.length;
  let compactions = 0;
  curve.marks.forEach((mark, i) => {
    const row = body.rows[i] ?? body.insertRow(), link = row.querySelector("a") ?? row.insertCell().appendChild(document.createElement("a"));
    const there = mark.kind.includes("compaction") ? `compaction/${++compactions}` : `read#L${mark.line}`;
    link.href = `/session/${box.dataset.key}/${there}`;
    link.textContent = mark.kind;
    [number.format(mark.request), known(mark.before), known(mark.after), mark.at ? new Date(mark.at).toLocaleString() : "?"].forEach((text, cell) => {
      (row.cells[cell + 1] ?? row.insertCell()).textContent = text;
    });
  });
  while (body.rows.length > curve.marks.length) body.deleteRow(-1);
}

function describe() {
  const { budget, percentage, used, basis } = curve.status, count = curve.tokens.length;
  now.textContent = used == null ? curve.status.advice : budget ? `${number.format(used)} of ${number.format(budget)} tokens now, ${percentage} %${basis === "estimated" ? ", estimated" : ""}` : `${number.format(used)} tokens now`;
  const [strong, words, link] = readout.children;
  if (!count) { words.textContent = "No reply to measure yet."; return; }
  const i = at < 0 ? count - 1 : Math.min(at, count - 1), tokens = curve.tokens[i];
  const share = budget ? `, ${(Math.floor((tokens / budget) * 1000) / 10).toFixed(1)} %` : "";
  const when = curve.at[i] ? ` · ${new Date(curve.at[i]).toLocaleString()}` : "";
  const marks = curve.marks.filter((mark) => mark.request === i || (mark.request === count && i === count - 1));
  const happened = marks.map((mark) => ` · ${MARKS[mark.kind]} ${mark.request === i ? "before this" : "since"}${mark.before != null && mark.after != null ? `: ${number.format(mark.before)} → ${number.format(mark.after)}` : ""}`).join("");
  strong.textContent = `Request ${number.format(i + 1)} of ${number.format(count)}: ${number.format(tokens)} tokens${share}`;
  words.textContent = `${when}${happened} · `;
  link.href = `/session/${box.dataset.key}/read#L${curve.lines[i]}`;
  link.textContent = `line ${number.format(curve.lines[i])}`;
  shownKinds.forEach((kind, row) => { legend.children[row].querySelector(".amount").textContent = short(curve.parts[kind][i]); });
}

function goTo(index) {
  at = Math.max(0, Math.min(curve.tokens.length - 1, index));
  const { min, max } = plot.scales.x;
  if (at + 1 < min || at + 1 > max) plot.setScale("x", { min: 1, max: curve.tokens.length });
  plot.setCursor({ left: plot.valToPos(at + 1, "x"), top: plot.valToPos(curve.tokens[at], "y") });
  describe();
}

function goToMark(step) {
  const places = curve.marks.map((mark) => Math.min(mark.request, curve.tokens.length - 1));
  const next = step > 0 ? places.find((place) => place > at) : places.findLast((place) => place < at);
  if (next !== undefined) goTo(next);
}

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || !curve?.tokens.length || event.target.closest("input, a, button, summary")) return;
  const last = curve.tokens.length - 1, from = at < 0 ? last : at, isHere = document.activeElement === box;
  const step = event.shiftKey ? 10 : 1;
  if (event.key === "c") box.focus();
  else if (event.key === "a") areasBox.click();
  else if (event.key === "m" || event.key === "M") { box.focus(); goToMark(event.key === "m" ? 1 : -1); }
  else if (!isHere) return;
  else if (event.key === "ArrowLeft") goTo(from - step);
  else if (event.key === "ArrowRight") goTo(from + step);
  else if (event.key === "Home") goTo(0);
  else if (event.key === "End") goTo(last);
  else if (event.key === "Enter") location.href = `/session/${box.dataset.key}/read#L${curve.lines[from]}`;
  else return;
  event.preventDefault();
}

/** Add what is new. What one is looking at or has the focus on stays where it is. */
function grow(news) {
  const was = curve.tokens.length;
  for (const name of ["tokens", "lines", "at"]) curve[name] = [...curve[name].slice(0, news.first), ...news[name]];
  curve.parts = curve.parts.map((part, kind) => [...part.slice(0, news.first), ...news.parts[kind]]);
  for (const name of ["marks", "status", "bytes", "reading"]) curve[name] = news[name];
  const { min, max } = plot.scales.x, shown = at, isZoomed = was > 1 && (min > 1 || max < was) && max <= curve.tokens.length;
  plot.batch(() => {
    plot.setData(data(), !isZoomed);
    if (isZoomed) plot.redraw();
  });
  drawLegend();
  drawEvents();
  if (shown >= 0 && curve.tokens.length) goTo(shown);
  else describe();
}

function follow() {
  let source = null;
  const start = () => {
    source?.close();
    source = document.hidden ? null : new EventSource(`/session/${box.dataset.key}/live?first=${curve.tokens.length}&bytes=${curve.bytes}&reading=${curve.reading}`);
    source?.addEventListener("curve", (event) => grow(JSON.parse(event.data)));
  };
  document.addEventListener("visibilitychange", start);
  addEventListener("pagehide", () => source?.close());
  start();
}

async function load() {
  const answer = await fetch(`/session/${box.dataset.key}/curve`);
  if (!answer.ok) { box.querySelector(".waiting").textContent = "The transcript could not be read."; return; }
  curve = await answer.json();
  draw();
  document.addEventListener("keydown", press);
  areasBox.addEventListener("change", () => plot.batch(() => curve.kinds.forEach((_, kind) => plot.setSeries(kind + 2, { show: areasBox.checked }))));
  new ResizeObserver(() => { if (box.clientWidth !== plot.width || box.clientHeight !== plot.height) draw(); }).observe(box);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  follow();
}

load();
