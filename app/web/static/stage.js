// Plays an episode step by step: as a path on a grid, or as a list of steps.

const SVG = "http://www.w3.org/2000/svg";
const MOST_ROWS = 1000; // of a timeline
const MOST_LINES = 80; // rows or columns; larger grids are drawn without lines
const MOST_SECONDS = 8; // a long episode is played faster

const calm = matchMedia("(prefers-reduced-motion: reduce)");

function svg(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

/** A state or an action in words. */
export function words(value) {
  if (Array.isArray(value)) return `(${value.map((x) => Number(x.toPrecision(4))).join(", ")})`;
  return String(value);
}

/** The states that an episode visited, with their actions; the final state has none. */
function placesOf(episode) {
  const names = episode.display?.kind === "names" ? episode.display.values : null;
  const grid = episode.display?.kind === "grid" ? episode.display : null;
  const name = (one) => {
    if (names?.[one.place] !== undefined) return names[one.place];
    if (grid && typeof one.state === "number") {
      return `row ${Math.floor(one.place / grid.cols) + 1}, column ${(one.place % grid.cols) + 1}`;
    }
    return words(one.state);
  };
  const places = episode.steps.map((one) => ({
    place: one.place,
    name: name(one),
    action: words(one.action),
  }));
  if (episode.final) {
    places.push({ place: episode.final.place, name: name(episode.final), action: null });
  }
  return places;
}

class GridDrawing {
  constructor(box, places, display) {
    const { rows, cols } = display;
    this.places = places;
    this.cols = cols;
    const view = svg("svg", {
      class: "grid",
      viewBox: `-0.05 -0.05 ${cols + 0.1} ${rows + 0.1}`,
      role: "img",
      "aria-label": `A path of ${places.length} places on a grid of ${rows} rows and ${cols} columns`,
    });
    view.append(svg("rect", { class: "board", width: cols, height: rows, rx: 0.08 }));
    if (rows <= MOST_LINES && cols <= MOST_LINES) {
      let lines = "";
      for (let x = 1; x < cols; x++) lines += `M${x} 0V${rows}`;
      for (let y = 1; y < rows; y++) lines += `M0 ${y}H${cols}`;
      view.append(svg("path", { class: "lines", d: lines }));
    }
    this.visited = svg("path", { class: "visited", d: "" });
    this.trail = svg("polyline", { class: "trail", points: "" });
    this.start = svg("circle", { class: "start", r: 0.16 });
    this.here = svg("circle", { class: "here", r: 0.3 });
    view.append(this.visited, this.trail, this.start, this.here);
    const first = this.#middle(0);
    this.#put(this.start, first);
    box.replaceChildren(view);
  }

  #middle(i) {
    const place = this.places[i].place;
    return [(place % this.cols) + 0.5, Math.floor(place / this.cols) + 0.5];
  }

  #put(circle, [x, y]) {
    circle.setAttribute("cx", x);
    circle.setAttribute("cy", y);
  }

  show(now) {
    const points = [];
    const cells = new Set();
    for (let i = 0; i <= now; i++) {
      const [x, y] = this.#middle(i);
      points.push(`${x},${y}`);
      cells.add(`M${x - 0.5} ${y - 0.5}h1v1h-1z`);
    }
    this.visited.setAttribute("d", [...cells].join(""));
    this.trail.setAttribute("points", points.join(" "));
    this.#put(this.here, this.#middle(now));
    this.here.classList.toggle("over", this.places[now].action === null);
  }
}

class Timeline {
  constructor(box, places) {
    this.rows = new Map();
    this.current = null;
    const list = element("ol", "timeline");
    list.tabIndex = 0;
    list.setAttribute("aria-label", "Steps");
    const half = MOST_ROWS / 2;
    places.forEach((place, i) => {
      if (places.length > MOST_ROWS && i >= half && i < places.length - half) {
        if (i === half) {
          const left = places.length - MOST_ROWS;
          list.append(element("li", "gap", `… ${left} steps are not listed …`));
        }
        return;
      }
      const row = element("li");
      row.append(element("span", "at", String(i)), element("span", "state", place.name));
      row.append(element("span", "action", place.action === null ? "end" : `→ ${place.action}`));
      list.append(row);
      this.rows.set(i, row);
    });
    this.list = list;
    box.replaceChildren(list);
  }

  show(now) {
    this.current?.removeAttribute("aria-current");
    this.current = this.rows.get(now) ?? null;
    if (!this.current) return;
    this.current.setAttribute("aria-current", "step");
    const { list, current } = this;
    const top = current.offsetTop - list.offsetTop;
    if (top < list.scrollTop || top + current.offsetHeight > list.scrollTop + list.clientHeight) {
      list.scrollTop = top - list.clientHeight / 2;
    }
  }
}

/** The player: give it the parts of the page, then `load` episodes. */
export class Stage {
  constructor(parts) {
    this.parts = parts;
    this.now = 0;
    this.places = [];
    this.timer = null;
    parts.play.addEventListener("click", () => this.toggle());
    parts.scrub.addEventListener("input", () => {
      this.pause();
      this.show(Number(parts.scrub.value));
    });
    parts.speed.addEventListener("change", () => {
      if (this.timer) this.play();
    });
  }

  load(episode, autoplay = true) {
    this.pause();
    this.places = placesOf(episode);
    const { drawing, scrub, player } = this.parts;
    const grid = episode.display?.kind === "grid" ? episode.display : null;
    const fits = grid && this.places.every((one) => one.place < grid.rows * grid.cols);
    player.hidden = this.places.length < 2;
    if (this.places.length === 0) {
      drawing.replaceChildren(element("p", "quiet", "This episode has no steps."));
      this.picture = null;
      this.parts.caption.textContent = "";
      return;
    }
    this.picture = fits
      ? new GridDrawing(drawing, this.places, grid)
      : new Timeline(drawing, this.places);
    scrub.max = this.places.length - 1;
    const still = calm.matches || !autoplay || !fits;
    this.show(still && fits ? this.places.length - 1 : 0);
    if (!still) this.play();
  }

  show(now) {
    if (!this.picture) return;
    this.now = Math.min(Math.max(now, 0), this.places.length - 1);
    const place = this.places[this.now];
    const { scrub, caption } = this.parts;
    scrub.value = this.now;
    const said =
      place.action === null
        ? `The end: ${place.name}`
        : `Step ${this.now}: ${place.name} → action ${place.action}`;
    scrub.setAttribute("aria-valuetext", said);
    caption.textContent = said;
    this.picture.show(this.now);
  }

  step(by) {
    this.pause();
    this.show(this.now + by);
  }

  toggle() {
    if (this.timer) this.pause();
    else this.play();
  }

  play() {
    this.pause();
    if (!this.picture) return;
    if (this.now >= this.places.length - 1) this.show(0);
    const usual = Math.min(450, (MOST_SECONDS * 1000) / this.places.length);
    const each = usual / Number(this.parts.speed.value);
    const stride = Math.max(1, Math.round(16 / each)); // at most 60 frames a second
    this.timer = setInterval(() => {
      this.show(this.now + stride);
      if (this.now >= this.places.length - 1) this.pause();
    }, each * stride);
    this.#say(true);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.#say(false);
  }

  faster(by) {
    const { speed } = this.parts;
    const chosen = Math.min(Math.max(speed.selectedIndex + by, 0), speed.options.length - 1);
    speed.selectedIndex = chosen;
    if (this.timer) this.play();
  }

  #say(playing) {
    this.parts.play.setAttribute("aria-label", playing ? "Pause" : "Play");
    this.parts.play.classList.toggle("playing", playing);
  }
}
