// The labelling desk: shows the next episode, sends verdicts, and shows what each changed.

import { Problem, ask, pageData, root } from "./server.js";
import { Stage, words } from "./stage.js";

const RENEW_MILLISECONDS = 40_000;
const LOOK_AGAIN_MILLISECONDS = 4_000;
const MOST_PAST = 8;

const at = (id) => document.getElementById(id);
const desk = pageData("desk-data");
const stage = new Stage({
  drawing: at("drawing"),
  player: at("player"),
  play: at("play"),
  scrub: at("scrub"),
  speed: at("speed"),
  caption: at("caption"),
});

let shown = null; // the episode on the desk
let busy = false;
const given = []; // verdicts that can be undone, newest last

function randomName() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// `tab` stays the same after a reload; `visit` is new with every load.
const tab = sessionStorage.getItem("plaudit-tab") ?? randomName();
sessionStorage.setItem("plaudit-tab", tab);
const visit = randomName();
const mine = (more = {}) => ({
  tab,
  visit,
  ...(desk.agent ? { agent: desk.agent } : {}),
  ...labeller(),
  ...more,
});

function labeller() {
  const name = desk.named ? "" : at("labeller").value.trim();
  return name ? { labeller: name } : {};
}

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function trouble(text) {
  at("trouble").textContent = text ?? "";
  at("trouble").hidden = !text;
}

/** Run one action at a time and show its error, if any. */
async function doing(act) {
  if (busy) return;
  busy = true;
  at("desk").setAttribute("aria-busy", "true");
  try {
    trouble(null);
    await act();
  } catch (error) {
    if (error instanceof Problem && error.status === 409) {
      await look();
      trouble(`${error.message} Here is another one.`);
    } else {
      trouble(error instanceof Problem ? error.message : "The server cannot be reached.");
    }
  } finally {
    busy = false;
    at("desk").setAttribute("aria-busy", "false");
  }
}

function show(answer) {
  at("left").textContent = answer.left;
  at("skipped").textContent = answer.skipped;
  at("skipped-note").hidden = answer.skipped === 0;
  shown = answer.episode;
  showWho();
  at("work").hidden = shown === null;
  at("empty").hidden = shown !== null;
  if (shown === null) {
    stage.pause();
    at("recording").replaceChildren();
    at("over").hidden = answer.skipped === 0;
    at("empty-words").textContent =
      answer.left === 0
        ? "No episode waits for your label. New ones appear here automatically."
        : answer.skipped > 0
          ? `${answer.left} still wait: you skipped them, or others are judging them.`
          : `${answer.left} still wait: others are judging them.`;
    return;
  }
  at("comment").value = "";
  at("episode-name").textContent = `${shown.agent_name} · episode ${shown.number}`;
  const steps = shown.steps.length === 1 ? "1 step" : `${shown.steps.length} steps`;
  at("episode-end").textContent = shown.terminated ? `ended after ${steps}` : steps;
  at("so-far").hidden = shown.labels_wanted === 1;
  at("so-far").textContent = `${shown.verdicts} of ${shown.labels_wanted} verdicts so far`;
  showFacts();
  showRecording();
  stage.load(shown, !shown.recording);
}

/** Keep the field for the name visible: what is left depends on the labeller. */
function showWho() {
  const place = at(shown ? "words" : "empty");
  if (!desk.named && at("who").parentElement !== place) place.append(at("who"));
}

function showFacts() {
  const facts = [];
  if (shown.external_id) facts.push(["name", shown.external_id]);
  for (const [key, value] of Object.entries(shown.metadata)) {
    facts.push([key, typeof value === "object" ? JSON.stringify(value) : words(value)]);
  }
  at("facts").replaceChildren(
    ...facts.slice(0, 30).flatMap(([key, value]) => [
      element("dt", "", key),
      element("dd", "", value.length > 400 ? `${value.slice(0, 400)}…` : value),
    ]),
  );
}

function showRecording() {
  const { recording } = shown;
  at("recording").hidden = !recording;
  at("toggle-steps").hidden = !recording;
  showSteps(!recording);
  if (!recording) {
    at("recording").replaceChildren();
    return;
  }
  const address = `${root}/v1/episodes/${shown.id}/recording?v=${recording.version}`;
  const video = recording.media_type.startsWith("video/");
  const film = document.createElement(video ? "video" : "img");
  if (video) {
    Object.assign(film, { controls: true, muted: true, loop: true, playsInline: true });
    film.autoplay = !matchMedia("(prefers-reduced-motion: reduce)").matches;
    film.setAttribute("aria-label", "Recording of the episode");
  } else {
    film.alt = "Recording of the episode";
  }
  film.src = address;
  at("recording").replaceChildren(film);
}

function showSteps(open) {
  at("drawing").hidden = !open;
  at("player").hidden = !open;
  at("caption").hidden = !open;
  at("toggle-steps").setAttribute("aria-expanded", String(open));
  at("toggle-steps").textContent = open ? "Hide the steps" : "Show the steps";
}

const look = async () => show(await ask("POST", "/label/next", mine()));

function nameIsThere() {
  if (desk.named || at("labeller").value.trim()) return true;
  trouble("Enter your name first. It is stored with your labels.");
  at("labeller").focus();
  return false;
}

function judge(label) {
  if (!shown || busy || !nameIsThere()) return;
  const episode = shown;
  const comment = at("comment").value.trim();
  doing(async () => {
    const body = { episode: episode.id, label, ...(comment ? { comment } : {}) };
    const answer = await ask("POST", "/label/verdict", mine(body));
    show(answer);
    remember(episode, label);
  });
}

function skip() {
  if (!shown) return;
  const { id } = shown;
  doing(async () => show(await ask("POST", "/label/skip", mine({ episode: id }))));
}

function undo() {
  const last = given.at(-1);
  if (!last || busy) return;
  doing(async () => {
    const body = { episode: last.episode, ...(shown ? { shown: shown.id } : {}) };
    const answer = await ask("POST", "/label/undo", mine(body));
    given.pop();
    last.entry.remove();
    showPast();
    show(answer);
    if (shown?.id !== last.episode) {
      trouble("Your verdict is withdrawn. Somebody else is judging that episode now.");
    }
  });
}

function showPast() {
  at("undo").disabled = given.length === 0;
  at("past-none").hidden = at("past").children.length > 0;
}

function remember(episode, label) {
  const entry = element("li", label ? "was-good" : "was-bad");
  const name = element("a", "", `${episode.agent_name} · episode ${episode.number}`);
  name.href = `${root}/episodes/${episode.id}`;
  const verdict = element("strong", "", label ? "✓ good" : "✗ bad");
  const note = element("span", "note quiet", "learning…");
  entry.append(verdict, " ", name, " ", note);
  at("past").prepend(entry);
  given.push({ episode: episode.id, entry });
  while (at("past").children.length > MOST_PAST) at("past").lastElementChild.remove();
  showPast();
  tellChange(episode.id, note);
}

const percent = (share) => `${Math.round(share * 100)}%`;

async function tellChange(episode, note) {
  let change;
  try {
    change = await ask("GET", `/label/change?${new URLSearchParams({ episode, ...labeller() })}`);
  } catch {
    note.textContent = "";
    return;
  }
  if (!change.learned) {
    note.textContent = "not learned yet";
    return;
  }
  const news = [];
  if (change.before !== null && change.after !== null) {
    news.push(`predicted success ${percent(change.before)} → ${percent(change.after)}`);
  } else if (change.after !== null) {
    news.push(`predicted success now ${percent(change.after)}`);
  }
  if (change.changed !== null) {
    const all = `${change.compared} ${change.compared === 1 ? "decision" : "decisions"}`;
    news.push(
      change.changed === 0
        ? "no decision of the policy changed"
        : `${change.changed} of ${all} of the policy changed`,
    );
  }
  note.textContent = news.join("; ") || "learned";
}

async function renew() {
  if (!shown || busy || document.hidden) return;
  const { id } = shown;
  try {
    const answer = await ask("POST", "/label/renew", mine({ episode: id }));
    at("left").textContent = answer.left;
    if (!answer.held && shown?.id === id) {
      await doing(look);
      trouble("Somebody else judged that one. Here is another one.");
    }
  } catch {
    // The next verdict shows the error.
  }
}

const KEYS = {
  g: () => judge(1),
  b: () => judge(0),
  s: skip,
  u: undo,
  c: () => at("comment").focus(),
  "?": () => at("help").showModal(),
  " ": () => stage.toggle(),
  ArrowLeft: () => stage.step(-1),
  ArrowRight: () => stage.step(1),
  Home: () => stage.step(-Infinity),
  End: () => stage.step(Infinity),
  "-": () => stage.faster(-1),
  "+": () => stage.faster(1),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || at("help").open) return;
  const { target } = event;
  const typing =
    target.matches("textarea, select") || (target.matches("input") && target.type !== "range");
  if (typing) {
    if (event.key === "Escape" || (event.key === "Enter" && target.id === "labeller")) {
      target.blur();
      event.preventDefault();
    }
    return;
  }
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (key === " " && target.matches("button, a, summary, video")) return;
  if (target.matches("video") && key.startsWith("Arrow")) return;
  const act = KEYS[key];
  if (!act || (event.repeat && "gbsu".includes(key))) return;
  event.preventDefault();
  act();
});

at("good").addEventListener("click", () => judge(1));
at("bad").addEventListener("click", () => judge(0));
at("skip").addEventListener("click", skip);
at("undo").addEventListener("click", undo);
at("over").addEventListener("click", () =>
  doing(async () => show(await ask("POST", "/label/over", mine()))),
);
at("help-button").addEventListener("click", () => at("help").showModal());
at("toggle-steps").addEventListener("click", () => {
  const open = at("drawing").hidden;
  showSteps(open);
  if (open) stage.load(shown);
});
if (!desk.named) {
  at("labeller").value = localStorage.getItem("plaudit-labeller") ?? "";
  at("labeller").addEventListener("change", () => {
    localStorage.setItem("plaudit-labeller", at("labeller").value.trim());
    trouble(null);
    if (!shown) doing(look);
  });
}
addEventListener("pagehide", () => {
  ask("POST", "/label/leave", mine(), { keepalive: true }).catch(() => {});
});
addEventListener("pageshow", (event) => {
  if (event.persisted) doing(look);
});
document.addEventListener("visibilitychange", renew);
setInterval(renew, RENEW_MILLISECONDS);
setInterval(() => {
  if (!shown && !busy && !document.hidden) doing(look);
}, LOOK_AGAIN_MILLISECONDS);

doing(look);
