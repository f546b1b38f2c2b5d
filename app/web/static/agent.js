// The page of an agent: its curve, its belief map, times and copy buttons.

import "./copy.js";
import "./times.js";
import { startMap } from "./belief.js";
import { startChart } from "./chart.js";

startChart();
startMap();
document.addEventListener("plaudit:swapped", ({ detail }) => {
  if (detail.id === "curve") startChart();
  if (detail.id === "believes") startMap();
});

/** Open the folded part that an address points at. */
function unfold() {
  const target = document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) target.open = true;
}
addEventListener("hashchange", unfold);
unfold();
