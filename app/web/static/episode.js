// The page of one episode, or of two side by side: players, shares of the verdict, the label.

import "./times.js";
import { Problem, ask, pageData } from "./server.js";
import { Player } from "./player.js";
import { recordingElement } from "./recording.js";
import { drawBars, markPath } from "./shares.js";

const players = [...document.querySelectorAll(".stage[data-stage]")].map(startStage);

function startStage(stage) {
  const part = (name) => stage.querySelector(`[data-part="${name}"]`);
  const names = ["drawing", "player", "play", "scrub", "speed", "position", "caption"];
  const player = new Player(Object.fromEntries(names.map((name) => [name, part(name)])));
  const { episode, shares } = pageData(stage.dataset.stage);
  const film = episode.recording ? recordingElement(episode) : null;
  part("recording").hidden = !film;
  if (film) part("recording").replaceChildren(film);
  player.load(episode, { film: film instanceof HTMLVideoElement ? film : null, still: true });
  part("outcome").textContent = player.outcome.text;
  if (shares) {
    drawBars(part("shares"), shares, (i) => player.jump(i));
    markPath(player.picture, part("drawing"), shares);
  }
  return player;
}

const all = (act) => () => players.forEach(act);
const go = (rel) => () => document.querySelector(`a[rel="${rel}"]`)?.click();
const KEYS = {
  " ": all((player) => player.toggle()),
  ArrowLeft: all((player) => player.step(-1)),
  ArrowRight: all((player) => player.step(1)),
  Home: all((player) => player.step(-Infinity)),
  End: all((player) => player.step(Infinity)),
  "-": all((player) => player.faster(-1)),
  "+": all((player) => player.faster(1)),
  p: go("prev"),
  n: go("next"),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const { target } = event;
  if (target.matches("textarea, select") || (target.matches("input") && target.type !== "range")) return;
  if (event.key === " " && target.matches("button, a, summary")) return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

const form = document.getElementById("correct");

async function correct(button) {
  const name = document.getElementById("labeller")?.value.trim();
  const comment = document.getElementById("comment").value.trim();
  const by = name ? { labeller: name } : {};
  const path = `/v1/episodes/${form.dataset.episode}/label`;
  if (button.value === "withdraw") return ask("DELETE", `${path}?${new URLSearchParams(by)}`);
  return ask("PUT", path, { label: Number(button.value), ...by, ...(comment ? { comment } : {}) });
}

if (form) {
  form.hidden = false;
  const name = document.getElementById("labeller");
  if (name) name.value = localStorage.getItem("plaudit-labeller") ?? "";
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const said = document.getElementById("correct-note");
    try {
      await correct(event.submitter);
      location.reload();
    } catch (error) {
      said.textContent = error instanceof Problem ? error.message : "The server cannot be reached. Try again.";
    }
  });
}
