// The last verdicts and skips of a labeller in this tab; they survive a reload.

import { element } from "./dom.js";

const MOST = 20;
const SIGNS = { good: "✓", bad: "✕", skipped: "–", unclear: "?" };

/** One word for an entry: good, bad, skipped, or unclear for "cannot tell". */
export const wordOf = ({ skipped, label }) =>
  skipped ? "skipped" : label === "cannot_tell" ? "unclear" : label ? "good" : "bad";

export class Past {
  constructor(list, open) {
    this.list = list;
    this.open = open; // called with an entry that was clicked
    this.key = null;
    this.entries = [];
  }

  /** Read the entries of one labeller. */
  load(labeller) {
    this.key = `plaudit-past ${labeller}`;
    try {
      this.entries = JSON.parse(sessionStorage.getItem(this.key) ?? "[]");
    } catch {
      this.entries = [];
    }
    this.#draw();
  }

  get last() {
    return this.entries.at(-1) ?? null;
  }

  /** Add a verdict or a skip; an earlier entry of the same episode leaves. */
  add(entry) {
    this.entries = this.entries.filter((one) => one.episode !== entry.episode);
    this.entries.push(entry);
    this.entries = this.entries.slice(-MOST);
    this.#save();
  }

  remove(episode) {
    this.entries = this.entries.filter((one) => one.episode !== episode);
    this.#save();
  }

  /** Keep what a verdict changed. */
  note(episode, note) {
    const entry = this.entries.find((one) => one.episode === episode);
    if (!entry) return;
    entry.note = note;
    this.#save();
  }

  /** Mark the entry whose episode is open for correction. */
  mark(episode) {
    for (const button of this.list.querySelectorAll("button")) {
      if (button.dataset.episode === episode) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
  }

  #save() {
    sessionStorage.setItem(this.key, JSON.stringify(this.entries));
    this.#draw();
  }

  #draw() {
    this.list.replaceChildren(...this.entries.map((entry) => this.#item(entry)));
  }

  #item(entry) {
    const word = wordOf(entry);
    const button = element("button", `was-${word}`, SIGNS[word]);
    button.type = "button";
    button.dataset.episode = entry.episode;
    button.title = `${entry.name}: ${word}${entry.comment ? `, “${entry.comment}”` : ""}${entry.note ? `. ${entry.note}` : ""}`;
    button.setAttribute("aria-label", `${entry.name}: ${word}. ${entry.skipped ? "Judge it" : "Correct it"}`);
    button.addEventListener("click", () => this.open(entry));
    const item = element("li");
    item.append(button);
    return item;
  }
}
