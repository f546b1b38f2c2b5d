// The labelling desk: shows the next episode, sends verdicts, and shows what each changed.

import { Problem, ask, pageData, root } from "./server.js";
import { element } from "./dom.js";
import { Guide } from "./guide.js";
import { words } from "./model.js";
import { Past, wordOf } from "./past.js";
import { Player } from "./player.js";
import { recordingElement } from "./recording.js";
import { Session } from "./session.js";
import { Stopwatch } from "./stopwatch.js";
import { onSwipe } from "./swipe.js";

const RENEW_MILLISECONDS = 40_000;
const LOOK_AGAIN_MILLISECONDS = 4_000;
const UNSEEN_MILLISECONDS = 250; // a new episode takes no verdict before this
const SLOW_MILLISECONDS = 200; // after this a bar shows that the desk waits for the server
const RECONNECT_MILLISECONDS = 1_500;
const OFFLINE = "The server cannot be reached. The desk continues when the connection is back.";
const GONE = "That episode was deleted. Here is another one.";

const TITLES = {
  good: (number) => `✓ Episode ${number} was good`,
  bad: (number) => `✕ Episode ${number} was bad`,
  skipped: (number) => `– Episode ${number} was skipped`,
  unclear: (number) => `? Episode ${number}: you cannot tell`,
};

const at = (id) => document.getElementById(id);
const desk = pageData("desk-data");
const player = new Player({
  drawing: at("drawing"),
  player: at("player"),
  play: at("play"),
  scrub: at("scrub"),
  speed: at("speed"),
  position: at("position"),
  caption: at("caption"),
});
const past = new Past(at("past"), open);
const guide = new Guide(at("guide-button"), at("guide"), at("guide-text"), at("guide-examples"));
const watch = new Stopwatch();
const session = new Session();

let shown = null; // the episode on the desk
let correcting = null; // the entry of `past` whose episode is on the desk again
let busy = false;
let seenAt = 0; // when the episode on the desk takes a verdict

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
  ...(session.current ? { current: session.current } : {}),
  ...labeller(),
  ...more,
});
const onDesk = () => (shown ? { shown: shown.id } : {});

function labeller() {
  const name = desk.named ? "" : at("labeller").value.trim();
  return name ? { labeller: name } : {};
}

const me = () => (desk.named ? desk.labeller : (labeller().labeller ?? ""));

function trouble(text) {
  at("trouble").textContent = text ?? "";
  at("trouble").hidden = !text;
}

/** Run one action at a time and show its error, if any. */
async function doing(act) {
  if (busy) return;
  busy = true;
  at("desk").setAttribute("aria-busy", "true");
  const slow = setTimeout(() => at("desk").setAttribute("data-slow", ""), SLOW_MILLISECONDS);
  try {
    trouble(null);
    await act();
  } catch (error) {
    await recover(error);
  } finally {
    busy = false;
    clearTimeout(slow);
    at("desk").removeAttribute("data-slow");
    at("desk").setAttribute("aria-busy", "false");
  }
}

/** Leave an episode that cannot be judged any more; wait for a server that is away. */
async function recover(error) {
  if (!(error instanceof Problem)) {
    trouble(OFFLINE);
    reconnect();
    return;
  }
  if (error.status !== 409 && error.status !== 404) {
    trouble(error.message);
    return;
  }
  try {
    await look();
    trouble(error.status === 404 ? GONE : `${error.message} Here is another one.`);
  } catch (again) {
    if (!(again instanceof Problem)) return recover(again);
    if (again.status !== 404) return trouble(again.message);
    show({ episode: null, left: 0, skipped: 0 });
    at("empty-words").textContent = "This agent was deleted.";
    trouble("This agent was deleted. Choose “all agents” to judge others.");
  }
}

let reconnecting = null;

function reconnect() {
  clearTimeout(reconnecting);
  reconnecting = setTimeout(async () => {
    try {
      await fetch(`${root}/healthz`, { cache: "no-store" });
    } catch {
      return reconnect();
    }
    if (at("trouble").textContent === OFFLINE) trouble(null);
    if (!shown) doing(look);
  }, RECONNECT_MILLISECONDS);
}

function show(answer, { correct = null, comment = "" } = {}) {
  at("left").textContent = answer.left;
  at("skipped").textContent = answer.skipped;
  at("skipped-note").hidden = answer.skipped === 0;
  shown = answer.episode;
  correcting = correct;
  past.mark(correct?.episode);
  at("skip-words").textContent = correct ? "Keep it" : "Skip";
  showWho();
  at("work").hidden = shown === null;
  at("empty").hidden = shown !== null;
  for (const id of ["good", "bad", "cannot-tell", "skip"]) at(id).disabled = shown === null;
  if (shown === null) return showEmpty(answer);
  at("comment").value = comment;
  showHead();
  showFacts();
  showEpisode();
  at("outcome").textContent = player.outcome.text;
  announce(answer);
  session.follow(shown.agent, labeller());
  watch.restart();
  unseen();
}

function showEmpty(answer) {
  player.pause();
  at("recording").replaceChildren();
  at("over").hidden = answer.skipped === 0;
  at("question").textContent = "Good or bad?";
  guide.offer(null);
  at("empty-words").textContent =
    answer.left === 0
      ? "No episode waits for your label. New ones appear here automatically."
      : answer.skipped > 0
        ? `${answer.left} still wait: you skipped them, or others are judging them.`
        : `${answer.left} still wait: others are judging them.`;
  at("announcement").textContent = at("empty-words").textContent;
}

function showHead() {
  at("question").textContent = shown.question || "Good or bad?";
  guide.offer(shown);
  at("episode-name").textContent = `${shown.agent_name} · episode ${shown.number}`;
  at("so-far").hidden = shown.labels_wanted === 1;
  at("so-far").textContent = `${shown.verdicts} of ${shown.labels_wanted} verdicts so far`;
}

/** Take no verdict on an episode that nobody can have seen yet. */
function unseen() {
  seenAt = performance.now() + UNSEEN_MILLISECONDS;
  at("desk").setAttribute("data-unseen", "");
  const { id } = shown;
  setTimeout(() => shown?.id === id && at("desk").removeAttribute("data-unseen"), UNSEEN_MILLISECONDS);
}

function announce(answer) {
  const name = `${shown.agent_name}, episode ${shown.number}`;
  at("announcement").textContent = `${name}. ${player.outcome.text}. ${answer.left} waiting.`;
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

function showEpisode() {
  const { recording } = shown;
  const film = recording ? recordingElement(shown) : null;
  at("recording").hidden = !recording;
  at("recording").replaceChildren(...(film ? [film] : []));
  at("toggle-steps").hidden = !recording;
  const drawn = !recording;
  player.load(shown, { film: film instanceof HTMLVideoElement ? film : null, drawn });
  showSteps(drawn);
}

function showSteps(open) {
  at("drawing").hidden = !open;
  at("caption").hidden = !open;
  at("toggle-steps").setAttribute("aria-expanded", String(open));
  at("toggle-steps").textContent = open ? "Hide the steps" : "Show the steps";
  player.showSteps(open);
}

const look = async () => show(await ask("POST", "/label/next", mine()));

function nameIsThere() {
  if (desk.named || at("labeller").value.trim()) return true;
  trouble("Enter your name first. It is stored with your labels.");
  at("labeller").focus();
  return false;
}

/** Move the focus off a button, so that the next key does not press it again. */
function leaveButtons() {
  if (document.activeElement?.matches("button, textarea")) at("outcome").focus({ preventScroll: true });
}

const ready = () => shown && !busy && performance.now() >= seenAt && nameIsThere();

function judge(label, reason) {
  if (!ready()) return;
  const episode = shown;
  const again = correcting !== null;
  const comment = at("comment").value.trim();
  const { seconds } = watch;
  leaveButtons();
  doing(async () => {
    const words = reason ? { reason } : comment ? { comment } : {};
    const judged = { guidelines_version: episode.guidelines_version, seconds };
    const more = { ...words, ...judged, ...(again ? { again } : {}) };
    const answer = await ask("POST", "/label/verdict", mine({ episode: episode.id, label, ...more }));
    show(answer);
    const name = `${episode.agent_name} · episode ${episode.number}`;
    past.add({ episode: episode.id, agent: episode.agent, name, number: episode.number, label, comment, at: Date.now() });
    if (reason) return showLast("The agent learns nothing from it.");
    showLast("learning…");
    tellChange(episode.id);
  });
}

function cannotTell() {
  if (!ready()) return;
  at("reason").value = "";
  at("reasons").returnValue = "";
  at("reasons").showModal();
}

function skip() {
  if (!shown || busy) return;
  const { id, agent_name, number } = shown;
  const keep = correcting;
  leaveButtons();
  doing(async () => {
    if (keep) return look();
    show(await ask("POST", "/label/skip", mine({ episode: id })));
    past.add({ episode: id, name: `${agent_name} · episode ${number}`, number, skipped: true, comment: "" });
    showLast("It is left to others.");
  });
}

function undo() {
  const entry = past.last;
  if (!entry || busy) return;
  leaveButtons();
  doing(async () => {
    const path = entry.skipped ? "/label/unskip" : "/label/undo";
    let answer;
    try {
      answer = await ask("POST", path, mine({ episode: entry.episode, ...onDesk() }));
    } catch (error) {
      if (error instanceof Problem && [404, 409].includes(error.status)) forget(entry);
      throw error;
    }
    forget(entry);
    show(answer, answer.episode?.id === entry.episode ? { comment: entry.comment } : {});
    if (shown?.id === entry.episode) return;
    trouble(
      entry.skipped
        ? "That episode has been judged, or somebody else is judging it now."
        : "Your verdict is withdrawn. Somebody else is judging that episode now.",
    );
  });
}

function forget(entry) {
  past.remove(entry.episode);
  showLast();
}

/** Open an earlier episode again, to correct its verdict or to judge it after a skip. */
function open(entry) {
  leaveButtons();
  doing(async () => {
    const path = entry.skipped ? "/label/unskip" : "/label/reopen";
    let answer;
    try {
      answer = await ask("POST", path, mine({ episode: entry.episode, ...onDesk() }));
    } catch (error) {
      if (error instanceof Problem && [404, 409].includes(error.status)) forget(entry);
      throw error;
    }
    if (entry.skipped) forget(entry);
    show(answer, { correct: entry.skipped ? null : entry, comment: entry.comment });
  });
}

/** What the last verdict was, and what it changed, beside the buttons. */
function showLast(note) {
  const entry = past.last;
  at("undo").disabled = entry === null;
  at("past-none").hidden = entry !== null;
  at("past-hint").hidden = entry === null;
  const result = at("result");
  const word = entry ? wordOf(entry) : null;
  if (word === "good" || word === "bad") result.dataset.label = entry.label;
  else delete result.dataset.label;
  const title = entry ? TITLES[word](entry.number) : "Nothing judged yet";
  at("result-title").replaceChildren(element("strong", "", title));
  at("result-note").textContent = entry ? (note ?? entry.note ?? "") : "What a verdict changed is shown here.";
  showPace();
}

function showPace() {
  const today = new Date().toDateString();
  const given = past.entries.filter((one) => one.at && new Date(one.at).toDateString() === today);
  const recent = given.slice(-10);
  const minutes = recent.length > 2 ? (recent.at(-1).at - recent[0].at) / 60_000 : 0;
  const pace = minutes > 0 ? ` · ${Math.max(1, Math.round((recent.length - 1) / minutes))} a minute` : "";
  at("pace").textContent = given.length ? `${given.length === 20 ? "20 or more" : given.length} here today${pace}` : "";
}

const percent = (share) => `${Math.round(share * 100)} %`;

/** What a verdict changed, in words. */
function changeWords(change) {
  if (!change.learned) return "Not learned yet.";
  const news = [];
  if (change.after !== null) {
    const before = change.before === null ? "" : `, was ${percent(change.before)}`;
    news.push(`It now expects ${percent(change.after)} for such an episode${before}.`);
  }
  if (change.changed !== null) {
    news.push(
      change.changed === 0
        ? "No decision changed."
        : `${change.changed} of ${change.compared} decisions changed.`,
    );
  }
  if (change.together > 1) news.push(`By ${change.together} verdicts together.`);
  return news.join(" ") || "Learned.";
}

async function tellChange(episode) {
  let note = "";
  try {
    note = changeWords(await ask("GET", `/label/change?${new URLSearchParams({ episode, ...labeller() })}`));
  } catch {
    // The verdict is stored; only what it changed is unknown.
  }
  past.note(episode, note);
  past.mark(correcting?.episode);
  if (past.last?.episode === episode) showLast(note);
}

async function renew() {
  if (!shown || busy || document.hidden || correcting) return;
  const { id } = shown;
  try {
    const answer = await ask("POST", "/label/renew", mine({ episode: id }));
    at("left").textContent = answer.left;
    if (!answer.held && shown?.id === id) {
      await doing(look);
      trouble("Somebody else judged that one. Here is another one.");
    }
  } catch (error) {
    if (error instanceof Problem && error.status === 404 && shown?.id === id) {
      await doing(look);
      trouble(GONE);
    }
  }
}

const KEYS = {
  g: () => judge(1),
  b: () => judge(0),
  t: cannotTell,
  s: skip,
  u: undo,
  c: () => at("comment").focus(),
  i: () => guide.open(),
  "?": () => at("help").showModal(),
  " ": () => player.toggle(),
  ArrowLeft: () => player.step(-1),
  ArrowRight: () => player.step(1),
  Home: () => player.step(-Infinity),
  End: () => player.step(Infinity),
  "-": () => player.faster(-1),
  "+": () => player.faster(1),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const { target } = event;
  const typing = target.matches("textarea, select") || (target.matches("input") && target.type !== "range");
  if (typing) {
    if (event.key === "Escape" || (event.key === "Enter" && target.id === "labeller")) {
      target.blur();
      event.preventDefault();
    }
    return;
  }
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (key === " " && target.matches("button, a, summary")) return;
  const act = KEYS[key];
  if (!act || (event.repeat && "gbtsu".includes(key))) return;
  event.preventDefault();
  act();
});

// A pointer leaves no focus behind on a button: keys go on to mean what the help says.
at("desk").addEventListener("click", (event) => {
  if (event.detail > 0 && event.target.closest("button")) leaveButtons();
});
at("good").addEventListener("click", () => judge(1));
at("bad").addEventListener("click", () => judge(0));
at("cannot-tell").addEventListener("click", cannotTell);
at("skip").addEventListener("click", skip);
for (const preset of document.querySelectorAll(".preset")) {
  preset.addEventListener("click", () => (at("reason").value = preset.textContent));
}
at("reasons").addEventListener("close", () => {
  const reason = at("reason").value.trim();
  if (at("reasons").returnValue === "send" && reason) judge("cannot_tell", reason);
});
at("undo").addEventListener("click", undo);
at("over").addEventListener("click", () =>
  doing(async () => show(await ask("POST", "/label/over", mine()))),
);
at("help-button").addEventListener("click", () => at("help").showModal());
at("toggle-steps").addEventListener("click", () => showSteps(at("drawing").hidden));
onSwipe(at("work"), { right: () => judge(1), left: () => judge(0) });
if (!desk.named) {
  at("labeller").value = localStorage.getItem("plaudit-labeller") ?? "";
  at("labeller").addEventListener("change", () => {
    localStorage.setItem("plaudit-labeller", at("labeller").value.trim());
    past.load(me());
    showLast();
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
addEventListener("online", () => {
  if (at("trouble").textContent === OFFLINE) reconnect();
});
addEventListener("offline", () => {
  trouble(OFFLINE);
  reconnect();
});
document.addEventListener("visibilitychange", renew);
setInterval(renew, RENEW_MILLISECONDS);
setInterval(() => {
  if (!shown && !busy && !document.hidden) doing(look);
}, LOOK_AGAIN_MILLISECONDS);

past.load(me());
showLast();
doing(look);
