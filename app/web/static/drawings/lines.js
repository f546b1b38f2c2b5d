// Observations as one small plot per dimension, with a shared cursor and a strip of actions.

import { element, momentColour, svg } from "../dom.js";
import { amount, ends } from "../model.js";

const MOST_DIMENSIONS = 8;
const MOST_PIECES = 60;
const MOST_CHOICES = 400; // steps with a box of their own in the strip of actions
const HUGE = 1e6; // bounds beyond this say nothing

const finite = (x) => Number.isFinite(x) && Math.abs(x) < HUGE;

/** The range of a plot: the bounds, or what was observed, whichever is wider. */
export function rangeOf(dimension, values) {
  const known = values.filter(Number.isFinite);
  let low = Math.min(...known, finite(dimension.low) ? dimension.low : Infinity);
  let high = Math.max(...known, finite(dimension.high) ? dimension.high : -Infinity);
  if (!(low < high)) [low, high] = [low - 1, high + 1];
  return [low, high];
}

/** The tinted parts of a plot: what is not safe, and the goal. */
function bands({ safe, goal }, low, high, y) {
  const clip = (value) => Math.min(Math.max(value, low), high);
  const band = (kind, from, to) => {
    const [bottom, top] = [y(clip(from)), y(clip(to))];
    return bottom > top ? [svg("rect", { class: kind, width: 100, y: top, height: bottom - top })] : [];
  };
  const parts = [];
  if (safe) {
    const [from, to] = ends(safe);
    parts.push(...band("unsafe", low, from), ...band("unsafe", to, high));
  }
  if (goal) parts.push(...band("goal", ...ends(goal)));
  return parts;
}

export class LinesDrawing {
  constructor(box, places, dimensions, outcome) {
    this.places = places;
    this.dimensions = dimensions;
    this.cursors = [];
    this.values = [];
    const plots = element("div", "plots");
    plots.setAttribute("role", "img");
    plots.setAttribute("aria-label", `${outcome.text}. ${dimensions.length} numbers over ${places.length} moments`);
    dimensions.slice(0, MOST_DIMENSIONS).forEach((dimension, i) => plots.append(...this.#plot(dimension, i, outcome)));
    if (dimensions.length > MOST_DIMENSIONS) {
      const more = dimensions.length - MOST_DIMENSIONS;
      plots.append(element("p", "quiet plot-note", `and ${more} more numbers, which are not drawn`));
    }
    plots.append(...this.#actions());
    box.replaceChildren(plots);
  }

  #x(i) {
    return (100 * i) / Math.max(1, this.places.length - 1);
  }

  #plot(dimension, i, outcome) {
    const values = this.places.map((place) => place.numbers?.[i] ?? NaN);
    const [low, high] = rangeOf(dimension, values);
    const y = (value) => 100 * (1 - (value - low) / (high - low));
    const label = element("div", "plot-name");
    label.append(element("strong", "", dimension.name), element("span", "quiet", dimension.unit));
    const scale = element("div", "plot-scale quiet");
    scale.append(element("span", "", amount(high, { unit: "" })), element("span", "", amount(low, { unit: "" })));
    const view = svg("svg", { class: "plot", viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" });
    view.append(...bands(dimension, low, high, y));
    if (low < 0 && high > 0) view.append(svg("path", { class: "zero", d: `M0 ${y(0)}H100` }));
    view.append(...this.#curve(values, y));
    const last = values.findLastIndex(Number.isFinite);
    if (last >= 0) {
      const end = `M${this.#x(last)} ${y(values[last])}h0`;
      view.append(svg("path", { class: `plot-end end-${outcome.kind ?? "plain"}`, d: end }));
    }
    const cursor = svg("path", { class: "cursor", d: "M0 0V100" });
    view.append(cursor);
    this.cursors.push(cursor);
    const value = element("output", "plot-value");
    this.values.push([value, values, dimension]);
    label.append(value);
    return [label, scale, view];
  }

  #curve(values, y) {
    const pieces = [];
    const size = Math.max(1, Math.ceil((values.length - 1) / MOST_PIECES));
    for (let first = 0; first < values.length - 1; first += size) {
      const points = [];
      for (let i = first; i <= Math.min(first + size, values.length - 1); i++) {
        if (Number.isFinite(values[i])) points.push(`${this.#x(i)},${y(values[i])}`);
      }
      const line = svg("polyline", { class: "plot-line", points: points.join(" ") });
      line.style.stroke = momentColour(first / Math.max(1, values.length - 2));
      pieces.push(line);
    }
    return pieces;
  }

  #actions() {
    const chosen = this.places.map((place) => place.choice).filter((choice) => choice !== null);
    if (!chosen.length || chosen.length > MOST_CHOICES) return [];
    const view = svg("svg", { class: "choices", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
    const width = 100 / Math.max(1, this.places.length - 1);
    chosen.forEach((choice, i) => {
      view.append(svg("rect", { class: `choice choice-${choice % 6}`, x: i * width, y: 0, width: width * 0.88, height: 10 }));
    });
    const kinds = element("p", "quiet choice-names");
    for (const choice of [...new Set(chosen)].sort((a, b) => a - b).slice(0, 12)) {
      const name = this.places.find((place) => place.choice === choice).action;
      const swatch = element("span", `swatch choice-${choice % 6}`);
      kinds.append(swatch, `${name} `);
    }
    const strip = element("div", "choice-strip");
    strip.append(view, kinds);
    const label = element("div", "plot-name");
    label.append(element("strong", "", "action"));
    return [label, element("span", "plot-scale"), strip];
  }

  show(now) {
    for (const cursor of this.cursors) cursor.setAttribute("d", `M${this.#x(now)} 0V100`);
    for (const [output, values, dimension] of this.values) {
      output.textContent = Number.isFinite(values[now]) ? amount(values[now], dimension) : "–";
    }
  }
}
