// The learning curve: numbers under the pointer, and zoom.

const percent = (share) => `${Math.round(100 * share)} %`;

class Chart {
  constructor(figure) {
    this.area = figure.querySelector(".plot-area");
    this.view = figure.querySelector("svg");
    this.cursor = figure.querySelector(".cursor");
    this.tip = figure.querySelector(".tip");
    this.ticks = [...figure.querySelectorAll(".ends span")];
    this.data = JSON.parse(document.getElementById("chart-data").textContent);
    this.from = 0;
    this.to = this.data.most;
    this.begin = null; // where a drag began
    this.area.addEventListener("pointermove", (event) => this.#point(event));
    this.area.addEventListener("pointerleave", () => this.#leave());
    this.area.addEventListener("pointerdown", (event) => (this.begin = this.#labels(event)));
    this.area.addEventListener("pointerup", (event) => this.#drop(event));
    this.area.addEventListener("dblclick", () => this.zoom(0, this.data.most));
    const controls = document.getElementById("chart-zoom");
    controls.hidden = false;
    [this.last, this.all] = controls.querySelectorAll("button");
    this.last.addEventListener("click", () => this.zoom((this.from + this.to) / 2, this.to));
    this.all.addEventListener("click", () => this.zoom(0, this.data.most));
  }

  #labels(event) {
    const box = this.area.getBoundingClientRect();
    return this.from + ((this.to - this.from) * (event.clientX - box.left)) / box.width;
  }

  #point(event) {
    const labels = Math.min(Math.max(this.#labels(event), 0), this.data.most);
    const point = this.data.points.find(([first, last]) => first < labels && labels <= last);
    const promise = this.data.promised.findLast(([at]) => at <= labels);
    const lines = [];
    if (point) {
      const [first, last, good, low, high] = point;
      lines.push(`labels ${first + 1} to ${last}: ${good} of ${last - first} good`);
      lines.push(`95 % interval ${percent(low)} to ${percent(high)}`);
    }
    if (promise) lines.push(`its policy was predicted to reach ${percent(promise[1])}`);
    const x = (100 * labels) / this.data.most;
    this.cursor.setAttribute("d", lines.length ? `M${x} 0V100` : "");
    this.tip.hidden = lines.length === 0;
    this.tip.textContent = lines.join("\n");
    const box = this.area.getBoundingClientRect();
    const right = event.clientX - box.left > box.width / 2;
    this.tip.style.left = right ? "auto" : `${event.clientX - box.left + 12}px`;
    this.tip.style.right = right ? `${box.right - event.clientX + 12}px` : "auto";
    if (this.begin !== null && event.buttons === 0) this.begin = null;
  }

  #leave() {
    this.cursor.setAttribute("d", "");
    this.tip.hidden = true;
  }

  #drop(event) {
    const [from, to] = [this.begin ?? 0, this.#labels(event)].sort((a, b) => a - b);
    const dragged = this.begin !== null && to - from > (this.to - this.from) / 30;
    this.begin = null;
    if (dragged) this.zoom(from, to);
  }

  zoom(from, to) {
    const { most } = this.data;
    if (to - from < 1) return;
    this.from = Math.max(0, from);
    this.to = Math.min(most, to);
    const [x, width] = [(100 * this.from) / most, (100 * (this.to - this.from)) / most];
    this.view.setAttribute("viewBox", `${x} 0 ${width} 100`);
    this.ticks.forEach((tick, i) => {
      const at = this.from + ((this.to - this.from) * i) / Math.max(1, this.ticks.length - 1);
      tick.textContent = Math.round(at);
    });
    this.all.disabled = this.from === 0 && this.to === most;
    // A curve that somebody looks into is not swapped under their eyes.
    document.getElementById("curve").toggleAttribute("data-held", !this.all.disabled);
  }
}

export function startChart() {
  const figure = document.getElementById("chart");
  if (figure) new Chart(figure);
}
