// Live updates of an agent's page: after every event the page is fetched again, and each element
// marked `data-live` that changed is replaced.

const PAUSE = 1000; // milliseconds between two fetches

const state = document.getElementById("live-state");
const untouched = new WeakMap(); // elements as the server sent them, before scripts changed them
for (const one of document.querySelectorAll("[data-live]")) untouched.set(one, one.cloneNode(true));
let pending = false; // an event came since the last fetch
let busy = false;

function showState(name, text) {
  if (state.dataset.state === name) return;
  state.dataset.state = name;
  state.textContent = text;
}

/** Replace an element, keeping what is open, focused and scrolled. */
function swap(old, fresh) {
  const opened = [...old.querySelectorAll("details[open]")].map((details) => details.id);
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  const scrolled = [...old.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
  const element = document.adoptNode(fresh);
  untouched.set(element, element.cloneNode(true));
  for (const id of opened) element.querySelector(`#${CSS.escape(id)}`)?.setAttribute("open", "");
  const place = focused === null ? -1 : [...old.querySelectorAll("a, summary, [tabindex]")].indexOf(focused);
  old.replaceWith(element);
  element.querySelectorAll(".scroll").forEach((box, i) => (box.scrollLeft = scrolled[i] ?? 0));
  if (place >= 0) element.querySelectorAll("a, summary, [tabindex]")[place]?.focus({ preventScroll: true });
  element.classList.add("fresh");
  document.dispatchEvent(new CustomEvent("plaudit:swapped", { detail: element }));
}

async function refresh() {
  const answer = await fetch(location.href, { credentials: "same-origin" });
  if (!answer.ok || answer.redirected) throw new Error(`HTTP status ${answer.status}`);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const fresh of page.querySelectorAll("[data-live]")) {
    const old = document.getElementById(fresh.id);
    if (old === null || old.hasAttribute("data-held")) continue;
    if (!untouched.get(old).isEqualNode(fresh)) swap(old, fresh);
  }
}

async function update() {
  pending = true;
  if (busy || document.hidden) return;
  busy = true;
  while (pending && !document.hidden) {
    pending = false;
    try {
      await refresh();
    } catch {
      showState("lost", "could not update");
    }
    await new Promise((done) => setTimeout(done, PAUSE));
  }
  busy = false;
}

if (state !== null) {
  const events = new EventSource(state.dataset.events);
  for (const name of state.dataset.names.split(" ")) events.addEventListener(name, update);
  let lost = false;
  events.addEventListener("open", () => {
    showState("open", "live");
    if (lost) update(); // events may have been missed
    lost = false;
  });
  events.addEventListener("error", () => {
    lost = true;
    showState("lost", "connection lost, trying again");
  });
  document.addEventListener("visibilitychange", () => pending && update());
  window.addEventListener("pagehide", () => events.close());
}
