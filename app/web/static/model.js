// An episode in words: names of states and actions, and how it ended.

const number = (x) => String(Number(x.toPrecision(3))).replace("-", "−");

/** A state or an action as text. */
export function words(value) {
  if (Array.isArray(value)) return `(${value.map(number).join(", ")})`;
  return String(value);
}

/** A number with its unit. */
export const amount = (value, dimension) =>
  dimension.unit ? `${number(value)} ${dimension.unit}` : number(value);

const isNumbers = (state) => Array.isArray(state) && state.every((x) => typeof x === "number");

/** The dimensions of an episode's observations; null where states are not numbers. */
export function dimensionsOf(episode) {
  if (!episode.box) return null;
  const named = episode.display?.dimensions ?? [];
  return episode.box.low.map((low, i) => ({
    name: named[i]?.name ?? `number ${i}`,
    unit: named[i]?.unit ?? "",
    low: named[i]?.low ?? low,
    high: named[i]?.high ?? episode.box.high[i],
    safe: named[i]?.safe ?? null,
    goal: named[i]?.goal ?? null,
  }));
}

/** The square of a state on a grid. */
const squareOf = (display, place) => display?.places?.[place] ?? place;

/** The kind of every square of a grid display that has one. */
export function cellKinds(display) {
  const kinds = new Map();
  for (const [kind, squares] of Object.entries(display?.cells ?? {})) {
    for (const square of squares) kinds.set(square, kind);
  }
  return kinds;
}

function stateName(episode) {
  const { display } = episode;
  const dimensions = dimensionsOf(episode);
  return ({ place, state }) => {
    const named = display?.kind === "names" ? display.values[place] : display?.names?.[place];
    if (named !== undefined) return named;
    if (display?.kind === "grid" && typeof state === "number") {
      const square = squareOf(display, place);
      return `row ${Math.floor(square / display.cols) + 1}, column ${(square % display.cols) + 1}`;
    }
    if (dimensions && isNumbers(state) && episode.display?.dimensions?.length) {
      return state.map((x, i) => `${dimensions[i].name} ${amount(x, dimensions[i])}`).join(", ");
    }
    return words(state);
  };
}

const ACTORS = {
  client: "done by the client",
  override: "somebody stepped in",
  fallback: "fallback action",
};

/** What was done in a step, and who did it where it was not the policy. */
function actionName(step, actions) {
  const name = actions?.[step.choice] ?? words(step.action);
  return ACTORS[step.actor] ? `${name} (${ACTORS[step.actor]})` : name;
}

/** The states that an episode visited, with their actions; the final state has none. */
export function placesOf(episode) {
  const name = stateName(episode);
  const actions = episode.display?.actions ?? null;
  const places = episode.steps.map((step) => ({
    place: step.place,
    square: squareOf(episode.display, step.place),
    name: name(step),
    numbers: isNumbers(step.state) ? step.state : null,
    choice: step.choice,
    action: actionName(step, actions),
  }));
  if (episode.final) {
    const { place, state } = episode.final;
    const numbers = isNumbers(state) ? state : null;
    const square = squareOf(episode.display, place);
    places.push({ place, square, name: name(episode.final), numbers, choice: null, action: null });
  }
  return places;
}

const ENDS = {
  goal: "Reached the goal",
  hole: "Fell into a hole",
  danger: "Ran into danger",
};

/** An interval whose ends may be open. */
export const ends = (interval) => [interval[0] ?? -Infinity, interval[1] ?? Infinity];

const within = (value, interval) => {
  const [low, high] = ends(interval);
  return low <= value && value <= high;
};

/** The kind of the region of a track that a place lies in; the last one that is drawn. */
function regionOf({ x, y, regions = [] }, numbers) {
  const inside = ({ low, high }) =>
    within(numbers[x], [low[0], high[0]]) && within(numbers[y], [low[1], high[1]]);
  return regions.findLast(inside)?.kind ?? null;
}

/** What an ending with numbers was, as {text, kind}; null where nothing is known of it. */
function numbersEnd(episode, numbers) {
  const dimensions = dimensionsOf(episode);
  const left = dimensions.findIndex(({ safe }, i) => safe && !within(numbers[i], safe));
  if (left >= 0) {
    const value = amount(numbers[left], dimensions[left]);
    return { text: `Left the safe range (${dimensions[left].name} ${value})`, kind: "hole" };
  }
  const kind = episode.display?.kind === "track" ? regionOf(episode.display, numbers) : null;
  if (kind in ENDS) return { text: ENDS[kind], kind };
  const goals = dimensions.map(({ goal }, i) => goal && within(numbers[i], goal));
  const wanted = goals.filter((one) => one !== null);
  return wanted.length && wanted.every(Boolean) ? { text: ENDS.goal, kind: "goal" } : null;
}

/** What happened at the end of an episode, as {text, kind} with kind goal, hole, danger or null. */
export function outcomeOf(episode, places) {
  const steps = episode.steps.length;
  const count = `${steps} ${steps === 1 ? "step" : "steps"}`;
  const last = places.at(-1);
  if (!last) return { text: "This episode has no steps", kind: null };
  const after = steps < episode.horizon ? `after ${steps} of ${episode.horizon} steps` : `after ${count}`;
  const known = episode.final !== null;
  const kind = known ? (cellKinds(episode.display).get(last.square) ?? null) : null;
  if (ENDS[kind]) return { text: `${ENDS[kind]} ${after}`, kind };
  const end = last.numbers && episode.box ? numbersEnd(episode, last.numbers) : null;
  if (end) return { text: `${end.text} ${after}`, kind: end.kind };
  const inside = known && !last.numbers ? ` in ${last.name}` : "";
  if (episode.terminated) return { text: `Ended${inside} ${after}`, kind: null };
  if (steps >= episode.horizon) return { text: `Ran out of time after ${count}${inside && `,${inside}`}`, kind: null };
  return { text: `Stopped${inside} ${after}`, kind: null };
}
