// Keys and small behaviours that all pages share. Without this file every page still works by Tab and Enter.
"use strict";

const isTyping = (target) => target.closest("input, textarea, select, [contenteditable]") !== null;
let pending = "";

function moveInRows(step) {
  const rows = [...document.querySelectorAll(".rows li > a")];
  const at = rows.indexOf(document.activeElement);
  const next = rows[at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + step))];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (isTyping(event.target)) {
    if (event.key === "Escape") {
      if (event.target.value) { event.target.value = ""; event.target.dispatchEvent(new Event("input", { bubbles: true })); }
      else event.target.blur();
    } else if (event.key === "ArrowDown" && event.target.type === "search") moveInRows(1);
    return;
  }
  const keys = pending + event.key;
  pending = event.key === "g" && !pending ? "g" : "";
  if (keys === "gh") location.href = "/";
  else if (keys === "/") { document.querySelector("input[type=search]")?.focus(); event.preventDefault(); }
  else if (keys === "?") document.getElementById("keys").showModal();
  else if (keys === "j") moveInRows(1);
  else if (keys === "k") moveInRows(-1);
});

document.addEventListener("click", async (event) => {
  if (event.target.closest("[data-keys]")) document.getElementById("keys").showModal();
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
  button.textContent = "Copied";
});
