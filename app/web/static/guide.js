// The guidelines of an agent: how to judge, with its example episodes drawn.

import { ask } from "./server.js";
import { element } from "./dom.js";
import { outcomeOf, placesOf } from "./model.js";
import { draw } from "./drawings/draw.js";

/** The dialog with the guidelines and examples of the episode on the desk. */
export class Guide {
  constructor(button, dialog, text, examples) {
    Object.assign(this, { button, dialog, text, examples });
    this.drawn = null; // whose examples are drawn
    button.addEventListener("click", () => this.open());
  }

  /** Offer the guidelines of an episode's agent; null hides them. */
  offer(episode) {
    this.episode = episode;
    this.button.hidden = !episode || !(episode.guidelines || this.#ids().length);
    this.text.textContent = episode?.guidelines ?? "";
    this.text.hidden = !episode?.guidelines;
  }

  #ids() {
    const { good, bad } = this.episode.examples;
    return [...good.map((id) => [id, "good"]), ...bad.map((id) => [id, "bad"])];
  }

  open() {
    if (this.button.hidden || this.dialog.open) return;
    this.dialog.showModal();
    const wanted = JSON.stringify(this.#ids());
    if (wanted === this.drawn) return;
    this.drawn = wanted;
    this.examples.replaceChildren(...this.#ids().map(([id, word]) => this.#example(id, word)));
  }

  #example(id, word) {
    const figure = element("figure", "example");
    const box = element("div", "drawing");
    const caption = element("figcaption");
    caption.append(element("strong", `pill ${word}`, word));
    figure.append(box, caption);
    ask("GET", `/label/example?${new URLSearchParams({ episode: id })}`).then(
      (episode) => {
        const places = placesOf(episode);
        const outcome = outcomeOf(episode, places);
        draw(box, episode, places, outcome)?.show(places.length - 1);
        caption.append(` ${outcome.text}`);
      },
      () => caption.append(" This example cannot be shown now."),
    );
    return figure;
  }
}
