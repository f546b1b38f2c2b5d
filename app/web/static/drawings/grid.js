// A path on a grid: squares with their kinds, the whole path from early to late, a marker.

import { element, momentColour, svg } from "../dom.js";
import { cellKinds } from "../model.js";

const MOST_LINES = 80; // rows or columns; larger grids are drawn without lines
const MOST_PIECES = 60; // colours along the path
const SIGNS = { start: "start", hole: "hole", wall: "", goal: "⚑", item: "◆", danger: "!" };
const END_SIGNS = { goal: "✓", hole: "✕", danger: "✕" };

/** The squares of a grid, without any path. */
export function board(display) {
  const { rows, cols } = display;
  const view = svg("svg", { class: "grid", viewBox: `-0.06 -0.06 ${cols + 0.12} ${rows + 0.12}` });
  view.append(svg("rect", { class: "board", width: cols, height: rows, rx: 0.06 }));
  for (const [square, kind] of cellKinds(display)) {
    const x = square % cols;
    const y = Math.floor(square / cols);
    view.append(svg("rect", { class: `cell cell-${kind}`, x, y, width: 1, height: 1 }));
    if (SIGNS[kind]) view.append(sign(x, y, SIGNS[kind], `sign sign-${kind}`));
  }
  for (const [square, text] of Object.entries(display.texts ?? {})) {
    view.append(sign(square % cols, Math.floor(square / cols), text, "sign sign-text"));
  }
  if (rows <= MOST_LINES && cols <= MOST_LINES) {
    let lines = "";
    for (let x = 1; x < cols; x++) lines += `M${x} 0V${rows}`;
    for (let y = 1; y < rows; y++) lines += `M0 ${y}H${cols}`;
    view.append(svg("path", { class: "lines", d: lines }));
  }
  const walls = (display.borders ?? []).map(([a, b]) => border(Math.min(a, b), Math.max(a, b), cols));
  if (walls.length) view.append(svg("path", { class: "border", d: walls.join("") }));
  view.append(svg("rect", { class: "frame", width: cols, height: rows, rx: 0.06 }));
  return view;
}

/** The line between two neighbouring squares. */
function border(first, second, cols) {
  const [x, y] = [second % cols, Math.floor(second / cols)];
  return second === first + 1 ? `M${x} ${y}v1` : `M${x} ${y}h1`;
}

function sign(x, y, text, className) {
  const made = svg("text", { class: className, x: x + 0.5, y: y + 0.5 });
  made.textContent = text;
  return made;
}

export class GridDrawing {
  constructor(box, places, display, outcome) {
    this.places = places;
    this.cols = display.cols;
    this.points = this.#spread();
    const view = board(display);
    view.setAttribute("role", "img");
    const size = `a grid of ${display.rows} rows and ${display.cols} columns`;
    view.setAttribute("aria-label", `${outcome.text}. A path of ${places.length} places on ${size}`);
    view.append(this.#dwelling(), ...this.#path());
    view.append(svg("circle", { class: "start", r: 0.13, ...this.#at(0) }));
    view.append(...this.#end(outcome));
    this.here = svg("circle", { class: "here", r: 0.2 });
    view.append(this.here);
    box.replaceChildren(view);
    if (places.length > 2) box.append(legend());
  }

  #middle(i) {
    const { square } = this.places[i];
    return [(square % this.cols) + 0.5, Math.floor(square / this.cols) + 0.5];
  }

  /** The points of the path; a square that is visited again is crossed a little beside. */
  #spread() {
    const visits = new Map();
    return this.places.map((one, i) => {
      const [x, y] = this.#middle(i);
      const again = i > 0 && this.places[i - 1].square === one.square;
      const visit = (visits.get(one.square) ?? -1) + (again ? 0 : 1);
      visits.set(one.square, visit);
      return [x + (((visit * 3) % 7) - 3) * 0.055 * Math.min(visit, 1), y + (((visit * 5) % 7) - 3) * 0.055 * Math.min(visit, 1)];
    });
  }

  #at(i) {
    const [cx, cy] = this.points[i];
    return { cx, cy };
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

  /** How often each square was visited, in its corner, where that is more than twice. */
  #dwelling() {
    const counts = new Map();
    for (const { square } of this.places) counts.set(square, (counts.get(square) ?? 0) + 1);
    const group = svg("g", { class: "dwelling" });
    const most = Math.max(...counts.values());
    for (const [square, count] of counts) {
      const x = square % this.cols;
      const y = Math.floor(square / this.cols);
      const shade = svg("rect", { class: "visited", x, y, width: 1, height: 1 });
      shade.style.opacity = 0.05 + (0.2 * count) / most;
      group.append(shade);
      if (count < 3) continue;
      const text = svg("text", { class: "count", x: x + 0.94, y: y + 0.94 });
      text.textContent = `${count}×`;
      group.append(text);
    }
    return group;
  }

  #end(outcome) {
    const [x, y] = this.points.at(-1);
    const text = svg("text", { class: "end-sign", x, y });
    text.textContent = END_SIGNS[outcome.kind] ?? "⚑";
    return [svg("circle", { class: `end end-${outcome.kind ?? "plain"}`, cx: x, cy: y, r: 0.22 }), text];
  }

  show(now) {
    const [x, y] = this.points[now];
    this.here.setAttribute("cx", x);
    this.here.setAttribute("cy", y);
    this.here.classList.toggle("over", now === this.places.length - 1);
  }
}

function legend() {
  const made = element("p", "legend quiet");
  made.append(element("span", "ramp"), " early to late");
  return made;
}
