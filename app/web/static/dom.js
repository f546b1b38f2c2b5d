// Small helpers to build elements.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element with a class and a text. */
export function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

/** An SVG element with attributes. */
export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** The colour of a moment of an episode, from 0 (early) to 1 (late). */
export const momentColour = (share) =>
  `color-mix(in oklab, var(--late) ${Math.round(100 * share)}%, var(--early))`;
