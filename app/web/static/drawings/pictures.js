// A picture for each state: the one of the moment large, all of them in a row below.

import { element } from "../dom.js";
import { runsOf } from "./steps.js";

const MOST_FRAMES = 200;

export class PicturesDrawing {
  constructor(box, places, display, outcome, jump) {
    this.places = places;
    this.display = display;
    this.runs = runsOf(places);
    const whole = element("div", "pictures");
    this.large = element("img", "large");
    const film = element("div", "film");
    film.setAttribute("role", "group");
    film.setAttribute("aria-label", `${outcome.text}. ${places.length} moments`);
    this.frames = this.runs.slice(0, MOST_FRAMES).map((run) => this.#frame(run, jump));
    film.append(...this.frames);
    whole.append(this.large, film);
    box.replaceChildren(whole);
  }

  #frame(run, jump) {
    const button = element("button");
    button.type = "button";
    button.setAttribute("aria-label", `Step ${run.first}: ${run.place.name}`);
    const picture = element("img");
    picture.src = this.display.values[run.place.place];
    picture.alt = "";
    button.append(picture);
    button.addEventListener("click", () => jump(run.first));
    return button;
  }

  show(now) {
    const place = this.places[now];
    const source = this.display.values[place.place];
    if (this.large.getAttribute("src") !== source) this.large.src = source;
    this.large.alt = place.name;
    const current = this.runs.findIndex((run) => run.last >= now);
    this.frames.forEach((frame, i) => {
      if (i === current) frame.setAttribute("aria-current", "step");
      else frame.removeAttribute("aria-current");
    });
  }
}
