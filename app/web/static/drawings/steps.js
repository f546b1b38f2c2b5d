// Steps as a list, with repetitions folded into one row.

import { element, momentColour } from "../dom.js";

const MOST_ROWS = 1000;

/** Neighbours with the same state and action, as {first, last, place}. */
export function runsOf(places) {
  const runs = [];
  places.forEach((place, i) => {
    const run = runs.at(-1);
    if (run && run.place.name === place.name && run.place.action === place.action) run.last = i;
    else runs.push({ first: i, last: i, place });
  });
  return runs;
}

export class StepsDrawing {
  constructor(box, places, jump) {
    this.runs = runsOf(places);
    this.rows = new Map();
    this.current = null;
    const list = element("ol", "timeline");
    list.tabIndex = 0;
    list.setAttribute("aria-label", "Steps");
    const half = MOST_ROWS / 2;
    this.runs.forEach((run, i) => {
      if (this.runs.length > MOST_ROWS && i >= half && i < this.runs.length - half) {
        const left = this.runs.length - MOST_ROWS;
        if (i === half) list.append(element("li", "gap", `… ${left} rows are not listed …`));
        return;
      }
      const row = this.#row(run, places.length);
      row.addEventListener("click", () => jump(run.first));
      list.append(row);
      this.rows.set(run, row);
    });
    this.list = list;
    box.replaceChildren(list);
  }

  #row({ first, last, place }, length) {
    const row = element("li");
    const at = first === last ? String(first) : `${first}–${last}`;
    row.append(element("span", "at", at), element("span", "state", place.name));
    row.append(element("span", "action", place.action === null ? "end" : `→ ${place.action}`));
    row.append(element("span", "times quiet", first === last ? "" : `${last - first + 1}×`));
    row.style.borderLeftColor = momentColour(first / Math.max(1, length - 1));
    return row;
  }

  show(now) {
    this.current?.removeAttribute("aria-current");
    this.current = this.rows.get(this.runs.find((run) => run.last >= now)) ?? null;
    if (!this.current) return;
    this.current.setAttribute("aria-current", "step");
    const { list, current } = this;
    const top = current.offsetTop - list.offsetTop;
    if (top < list.scrollTop || top + current.offsetHeight > list.scrollTop + list.clientHeight) {
      list.scrollTop = top - list.clientHeight / 2;
    }
  }
}
