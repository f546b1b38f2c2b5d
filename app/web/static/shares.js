// What each moment of an episode adds to its prediction: bars above the scrub bar, marks on the path.

import { svg } from "./dom.js";

const MOST_BARS = 2000;
const MOST_MARKS = 30; // the strongest moments, on the path

const amount = (share) => `${share > 0 ? "+" : "−"}${Math.abs(share).toFixed(2)}`;
const kind = (share) => (share > 0 ? "share-plus" : "share-minus");

/** Bars, one a moment, up towards good and down towards bad; a click goes to the moment. */
export function drawBars(box, shares, jump) {
  const largest = Math.max(...shares.map(Math.abs));
  if (shares.length > MOST_BARS || !(largest > 0.005)) return;
  const view = svg("svg", { class: "shares", viewBox: `-0.5 -1 ${shares.length} 2`, preserveAspectRatio: "none", role: "img" });
  view.setAttribute("aria-label", "What each moment adds to the prediction; the numbers are in the table of steps");
  view.append(svg("path", { class: "zero", d: `M-0.5 0H${shares.length}` }));
  shares.forEach((share, i) => {
    const height = Math.abs(share) / largest;
    const bar = svg("rect", { class: kind(share), x: i - 0.42, y: share > 0 ? -height : 0, width: 0.84, height });
    const title = svg("title");
    title.textContent = `${i < shares.length - 1 ? `step ${i}` : "after the last step"}: ${amount(share)}`;
    bar.append(title);
    view.append(bar);
  });
  view.addEventListener("click", (event) => {
    const { left, width } = view.getBoundingClientRect();
    jump(Math.floor((shares.length * (event.clientX - left)) / width));
  });
  box.replaceChildren(view);
}

/** The strongest moments as discs on the path of a drawing, where it has one. */
export function markPath(picture, box, shares) {
  const view = box.querySelector("svg.grid, svg.track");
  if (!view || !picture?.points) return;
  const largest = Math.max(...shares.map(Math.abs));
  if (!(largest > 0.005)) return;
  const unit = view.classList.contains("grid") ? 0.3 : 4;
  const order = shares.map((share, i) => [Math.abs(share), i]).sort((a, b) => b[0] - a[0]);
  const marks = svg("g", { class: "share-marks" });
  for (const [size, i] of order.slice(0, MOST_MARKS)) {
    const point = picture.points[Math.min(i, picture.points.length - 1)];
    if (size < largest / 20) continue;
    const title = svg("title");
    title.textContent = amount(shares[i]);
    marks.append(svg("circle", { class: kind(shares[i]), cx: point[0], cy: point[1], r: unit * Math.sqrt(size / largest) }, title));
  }
  view.querySelector(".trail")?.before(marks);
}
