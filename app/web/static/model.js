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
  }));
}

/** The kind of every square of a grid display that has one, by state. */
export function cellKinds(display) {
  const kinds = new Map();
  for (const [kind, states] of Object.entries(display?.cells ?? {})) {
    for (const state of states) kinds.set(state, kind);
  }
  return kinds;
}

function stateName(episode) {
  const { display } = episode;
  const dimensions = dimensionsOf(episode);
  return ({ place, state }) => {
    if (display?.kind === "names" && display.values[place] !== undefined) {
      return display.values[place];
    }
    if (display?.kind === "grid" && typeof state === "number") {
      return `row ${Math.floor(place / display.cols) + 1}, column ${(place % display.cols) + 1}`;
    }
    if (dimensions && isNumbers(state) && episode.display?.dimensions) {
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
    name: name(step),
    numbers: isNumbers(step.state) ? step.state : null,
    choice: step.choice,
    action: actionName(step, actions),
  }));
  if (episode.final) {
    const { place, state } = episode.final;
    const numbers = isNumbers(state) ? state : null;
    places.push({ place, name: name(episode.final), numbers, choice: null, action: null });
  }
  return places;
}

const ENDS = {
  goal: "Reached the goal",
  hole: "Fell into a hole",
  danger: "Ran into danger",
};

function outside(place, dimensions) {
  return dimensions.findIndex(
    ({ safe }, i) => safe && (place.numbers[i] < safe[0] || place.numbers[i] > safe[1]),
  );
}

/** What happened at the end of an episode, as {text, kind} with kind goal, hole, danger or null. */
export function outcomeOf(episode, places) {
  const steps = episode.steps.length;
  const count = `${steps} ${steps === 1 ? "step" : "steps"}`;
  const last = places.at(-1);
  if (!last) return { text: "This episode has no steps", kind: null };
  const after = steps < episode.horizon ? `after ${steps} of ${episode.horizon} steps` : `after ${count}`;
  const known = episode.final !== null;
  const kind = known ? (cellKinds(episode.display).get(last.place) ?? null) : null;
  if (ENDS[kind]) return { text: `${ENDS[kind]} ${after}`, kind };
  const dimensions = last.numbers ? dimensionsOf(episode) : null;
  const wrong = dimensions ? outside(last, dimensions) : -1;
  if (wrong >= 0) {
    const value = amount(last.numbers[wrong], dimensions[wrong]);
    return { text: `Left the safe range: ${dimensions[wrong].name} ${value} ${after}`, kind: "hole" };
  }
  const inside = known && !last.numbers ? ` in ${last.name}` : "";
  if (episode.terminated) return { text: `Ended${inside} ${after}`, kind: null };
  if (steps >= episode.horizon) return { text: `Ran out of time after ${count}${inside && `,${inside}`}`, kind: null };
  return { text: `Stopped${inside} ${after}`, kind: null };
}
