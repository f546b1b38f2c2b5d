// Choose the drawing that fits an episode and its agent's display.

import { element } from "../dom.js";
import { dimensionsOf } from "../model.js";
import { GridDrawing } from "./grid.js";
import { LinesDrawing } from "./lines.js";
import { PicturesDrawing } from "./pictures.js";
import { StepsDrawing } from "./steps.js";
import { TrackDrawing } from "./track.js";

/** Draw an episode into a box; null where there is nothing to draw. */
export function draw(box, episode, places, outcome, jump = () => {}) {
  const { display } = episode;
  if (places.length === 0) {
    box.replaceChildren(element("p", "quiet", "This episode has no steps."));
    return null;
  }
  const dimensions = places.every((place) => place.numbers) ? dimensionsOf(episode) : null;
  if (display?.kind === "pictures" && places.every((one) => display.values[one.place])) {
    return new PicturesDrawing(box, places, display, outcome, jump);
  }
  const grid = display?.kind === "grid" ? display : null;
  if (grid && places.every((one) => one.square < grid.rows * grid.cols)) {
    return new GridDrawing(box, places, grid, outcome);
  }
  if (dimensions && display?.kind === "track") {
    return new TrackDrawing(box, places, dimensions, display, outcome);
  }
  if (dimensions) return new LinesDrawing(box, places, dimensions, outcome);
  return new StepsDrawing(box, places, jump);
}
