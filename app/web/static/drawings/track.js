// Two dimensions of an observation as a path in the plane, with regions.

import { element, momentColour, svg } from "../dom.js";
import { rangeOf } from "./lines.js";

const MOST_PIECES = 60;
const LONG = 100; // the longer side of the drawing

export class TrackDrawing {
  constructor(box, places, dimensions, display, outcome) {
    this.points = [];
    const axes = [display.x, display.y].map((i) => {
      const values = places.map((place) => place.numbers?.[i] ?? NaN);
      return { values, dimension: dimensions[i], range: rangeOf(dimensions[i], values) };
    });
    const [x, y] = axes;
    const spans = axes.map(({ range }) => range[1] - range[0]);
    const alike = x.dimension.unit === y.dimension.unit; // then both have the same scale
    const wide = alike ? (LONG * spans[0]) / Math.max(...spans) : LONG;
    const tall = alike ? (LONG * spans[1]) / Math.max(...spans) : LONG * 0.62;
    this.place = (a, b) => [
      (wide * (a - x.range[0])) / spans[0],
      tall * (1 - (b - y.range[0]) / spans[1]),
    ];
    const view = svg("svg", { class: "track", viewBox: `-3 -3 ${wide + 6} ${tall + 6}`, role: "img" });
    const names = `${x.dimension.name} to the right, ${y.dimension.name} upwards`;
    view.setAttribute("aria-label", `${outcome.text}. A path of ${places.length} moments: ${names}`);
    view.append(svg("rect", { class: "board frame", width: wide, height: tall, rx: 1 }));
    for (const region of display.regions ?? []) view.append(...this.#region(region));
    this.points = places.map((_, i) => this.place(x.values[i], y.values[i]));
    view.append(...this.#path());
    const [endX, endY] = this.points.at(-1);
    view.append(svg("circle", { class: "start", cx: this.points[0][0], cy: this.points[0][1], r: 1.4 }));
    view.append(svg("circle", { class: `end end-${outcome.kind ?? "plain"}`, cx: endX, cy: endY, r: 2 }));
    this.here = svg("circle", { class: "here", r: 1.8 });
    view.append(this.here);
    box.replaceChildren(view, element("p", "legend quiet", names));
  }

  #region(region) {
    const [left, bottom] = this.place(region.low[0], region.low[1]);
    const [right, top] = this.place(region.high[0], region.high[1]);
    const area = { x: left, y: top, width: Math.max(0, right - left), height: Math.max(0, bottom - top) };
    const shape = svg("rect", { class: `cell cell-${region.kind}`, ...area });
    if (!region.name) return [shape];
    const text = svg("text", { class: `track-name sign-${region.kind}`, x: (left + right) / 2, y: (top + bottom) / 2 });
    text.textContent = region.name;
    return [shape, text];
  }

  #path() {
    const pieces = [];
    const size = Math.max(1, Math.ceil((this.points.length - 1) / MOST_PIECES));
    for (let first = 0; first < this.points.length - 1; first += size) {
      const some = this.points.slice(first, first + size + 1);
      const line = svg("polyline", { class: "trail", points: some.map((p) => p.join(",")).join(" ") });
      line.style.stroke = momentColour(first / Math.max(1, this.points.length - 2));
      pieces.push(line);
    }
    return pieces;
  }

  show(now) {
    this.here.setAttribute("cx", this.points[now][0]);
    this.here.setAttribute("cy", this.points[now][1]);
  }
}
