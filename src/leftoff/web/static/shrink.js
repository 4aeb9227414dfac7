// Counts the tokens of the ticked cuts.
const plan = document.getElementById("plan");
const number = new Intl.NumberFormat("en-US");
const cuts = plan ? [...plan.querySelectorAll("input[name=cut]")] : [];
const every = document.getElementById("every");

function recount() {
  const saved = cuts.filter((cut) => cut.checked).reduce((sum, cut) => sum + Number(cut.dataset.tokens), 0);
  document.getElementById("saved").textContent = number.format(saved);
  document.getElementById("left").textContent = number.format(Number(plan.dataset.live) - saved);
  every.checked = cuts.every((cut) => cut.checked);
  every.indeterminate = !every.checked && cuts.some((cut) => cut.checked);
}

plan?.addEventListener("change", (event) => {
  if (event.target === every) for (const cut of cuts) cut.checked = every.checked;
  recount();
});
