// Keeps the page of an agent up to date: when the server says that something happened, the page is
// fetched again and every part marked `data-live` that changed is swapped.

const PAUSE = 1000; // milliseconds between two fetches, however much happens

const state = document.getElementById("live-state");
let asked = false;
let busy = false;

function say(name, words) {
  if (state.dataset.state === name) return;
  state.dataset.state = name;
  state.textContent = words;
}

function swap(old, fresh) {
  const opened = [...old.querySelectorAll("details[open]")].map((one) => one.id);
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  const scrolled = [...old.querySelectorAll(".scroll")].map((one) => one.scrollLeft);
  const same = document.adoptNode(fresh);
  for (const id of opened) same.querySelector(`#${CSS.escape(id)}`)?.setAttribute("open", "");
  const place = focused === null ? -1 : [...old.querySelectorAll("a, summary, [tabindex]")].indexOf(focused);
  old.replaceWith(same);
  same.querySelectorAll(".scroll").forEach((one, i) => (one.scrollLeft = scrolled[i] ?? 0));
  if (place >= 0) same.querySelectorAll("a, summary, [tabindex]")[place]?.focus({ preventScroll: true });
  same.classList.add("fresh");
}

async function refresh() {
  const answer = await fetch(location.href, { credentials: "same-origin" });
  if (!answer.ok || answer.redirected) throw new Error(`the server answered ${answer.status}`);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const fresh of page.querySelectorAll("[data-live]")) {
    const old = document.getElementById(fresh.id);
    if (old === null) continue;
    const plain = old.cloneNode(true);
    plain.classList.remove("fresh");
    if (!plain.classList.length) plain.removeAttribute("class");
    plain.querySelectorAll("details[open]").forEach((one) => one.removeAttribute("open"));
    if (!plain.isEqualNode(fresh)) swap(old, fresh);
  }
}

async function update() {
  asked = true;
  if (busy || document.hidden) return;
  busy = true;
  while (asked && !document.hidden) {
    asked = false;
    try {
      await refresh();
    } catch {
      say("lost", "could not update");
    }
    await new Promise((done) => setTimeout(done, PAUSE));
  }
  busy = false;
}

if (state !== null) {
  const events = new EventSource(state.dataset.events);
  const names = [
    "episode.finished", "episode.reported", "episode.abandoned",
    "label.given", "label.withdrawn", "policy.replaced",
  ];
  for (const name of names) events.addEventListener(name, update);
  let lost = false;
  events.addEventListener("open", () => {
    say("open", "live");
    if (lost) update(); // what happened while nobody listened
    lost = false;
  });
  events.addEventListener("error", () => {
    lost = true;
    say("lost", "connection lost, trying again");
  });
  document.addEventListener("visibilitychange", () => asked && update());
  window.addEventListener("pagehide", () => events.close());
}
