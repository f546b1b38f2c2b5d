// The start page of an empty server: it says when the first agent and its first episode are there.

import { ask, root } from "./server.js";
import { element } from "./dom.js";

const PAUSE = 1500; // milliseconds between two looks
const line = document.getElementById("first");

function show(state, text, agent) {
  if (line.dataset.state === state && line.textContent === text) return;
  line.dataset.state = state;
  line.textContent = text;
  if (agent === undefined) return;
  const link = element("a", "", "Watch it learn");
  link.href = `${root}/agents/${agent.id}`;
  line.append(" ", link);
}

function count(agent) {
  return Object.values(agent.episodes).reduce((sum, part) => sum + part, 0);
}

async function look() {
  if (document.hidden) return;
  try {
    const [agent] = (await ask("GET", "/v1/agents?limit=1")).items;
    if (agent === undefined) show("waiting", "Waiting for your first episode…");
    else if (count(agent) === 0) show("waiting", `${agent.name} is there. Waiting for its first episode…`);
    else show("here", `${agent.name} plays.`, agent);
  } catch {
    show("lost", "The server does not answer. Trying again…");
  }
}

setInterval(look, PAUSE);
