// Counts the tokens of the ticked cuts as the copy will: all their characters together, by what one is on average.
const plan = document.getElementById("plan");
const number = new Intl.NumberFormat("en-US");
const cuts = plan ? [...plan.querySelectorAll("input[name=cut]")] : [];
const every = document.getElementById("every");

function recount() {
  const chars = cuts.filter((cut) => cut.checked).reduce((sum, cut) => sum + Number(cut.dataset.chars), 0);
  const saved = Math.floor(chars * Number(plan.dataset.tokensPerChar));
  document.getElementById("saved").textContent = number.format(saved);
  document.getElementById("left").textContent = number.format(Number(plan.dataset.live) - saved);
  every.checked = cuts.every((cut) => cut.checked);
  every.indeterminate = !every.checked && cuts.some((cut) => cut.checked);
}

plan?.addEventListener("change", (event) => {
  if (event.target === every) for (const cut of cuts) cut.checked = every.checked;
  recount();
});
