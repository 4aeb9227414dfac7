// The curve of an exported session: the pointer or the arrow keys read one request, a click or Enter goes to its line.
"use strict";
(() => {
  const picture = document.querySelector(".picture");
  if (!picture) return;
  const [words, link] = document.getElementById("picture-readout").children;
  const numbers = (name) => picture.dataset[name].split(" ").map(Number);
  const [tokens, lines, budget, number] = [numbers("tokens"), numbers("lines"), Number(picture.dataset.budget), new Intl.NumberFormat("en-US")];
  const cursor = picture.querySelector(".cursor"), last = tokens.length - 1;
  let at = last;

  function show(index) {
    at = Math.max(0, Math.min(last, index));
    const x = (picture.viewBox.baseVal.width * at) / Math.max(1, last);
    for (const end of ["x1", "x2"]) cursor.setAttribute(end, x);
    const share = budget ? `, ${(Math.floor((tokens[at] / budget) * 1000) / 10).toFixed(1)} %` : "";
    words.textContent = `Request ${number.format(at + 1)} of ${number.format(tokens.length)}: ${number.format(tokens[at])} tokens${share} ·`;
    link.textContent = `line ${number.format(lines[at])}`;
    link.href = `#L${lines[at]}`;
  }

  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    show(Math.round(((event.clientX - box.left) / box.width) * last));
  });
  picture.addEventListener("click", (event) => { if (!event.target.closest("a") && link.href) link.click(); });
  picture.addEventListener("keydown", (event) => {
    const step = event.shiftKey ? 10 : 1, to = { ArrowLeft: at - step, ArrowRight: at + step, Home: 0, End: last }[event.key];
    if (to !== undefined) show(to);
    else if (event.key === "Enter" && event.target === picture && link.href) link.click();
    else return;
    event.preventDefault();
  });
})();
