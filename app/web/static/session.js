// A labeller's session: the agent at work, what was done today, a goal, and the curve of the agent.

import { ask } from "./server.js";
import { svg } from "./dom.js";

const GOAL = "plaudit-goal";
const at = (id) => document.getElementById(id);

export class Session {
  constructor() {
    this.current = null; // the agent whose episodes come first
    this.today = 0;
    at("goal").value = localStorage.getItem(GOAL) ?? "";
    at("goal").addEventListener("input", () => {
      localStorage.setItem(GOAL, at("goal").value);
      this.#tell();
    });
    at("scope-agent").addEventListener("change", ({ target }) => {
      const query = target.value ? `?${new URLSearchParams({ agent: target.value })}` : "";
      location.assign(at("scope").action + query);
    });
  }

  /** Note the agent of the episode on the desk, and read how it and the labeller come on. */
  async follow(agent, labeller) {
    this.current = agent;
    const midnight = new Date().setHours(0, 0, 0, 0);
    try {
      const query = new URLSearchParams({ agent, since: midnight, ...labeller });
      const progress = await ask("GET", `/label/progress?${query}`);
      this.today = progress.today;
      this.#tell();
      this.#draw(progress);
    } catch {
      // Only a view: the desk goes on without it.
    }
  }

  #tell() {
    const goal = Number(at("goal").value);
    at("today").textContent = `${this.today} judged today`;
    at("today-bar").hidden = !(goal > 0);
    at("today-bar").max = Math.max(1, goal);
    at("today-bar").value = Math.min(this.today, goal);
  }

  #draw({ curve, labels }) {
    const last = curve.at(-1);
    at("learning-words").textContent = last
      ? `${labels} labels · ${Math.round(100 * last[1])} % expected`
      : `${labels} labels`;
    const most = Math.max(1, labels);
    const points = curve.map(([x, y]) => `${(100 * x) / most},${38 - 36 * y}`);
    at("learning-curve").replaceChildren(
      svg("path", { class: "ground", d: "M0 38H100M0 2H100" }),
      svg("polyline", { class: "rise", points: points.join(" ") }),
    );
  }
}
