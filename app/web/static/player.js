// One player for the steps and the recording of an episode: the same keys, the same scrub bar.

import { outcomeOf, placesOf } from "./model.js";
import { draw } from "./drawings/draw.js";

const SPEEDS = [0.5, 1, 2, 4];
const SPEED_KEY = "plaudit-speed";
const MOST_SECONDS = 8; // a long episode is played faster
const FILM_PARTS = 1000; // positions of the scrub bar where a recording has no steps

const ENDLESS = 1e7; // seconds; browsers find the duration of a live recording by seeking to its end

const calm = matchMedia("(prefers-reduced-motion: reduce)");

/** The player: give it the parts of the page, then `load` episodes. */
export class Player {
  constructor(parts) {
    this.parts = parts;
    this.places = [];
    this.now = 0;
    this.timer = null;
    this.film = null; // a video that plays along
    this.picture = null;
    this.drawn = true; // whether the steps are shown
    this.speed = SPEEDS.includes(Number(localStorage.getItem(SPEED_KEY)))
      ? Number(localStorage.getItem(SPEED_KEY))
      : 1;
    this.#showSpeed();
    parts.play.addEventListener("click", () => this.toggle());
    parts.speed.addEventListener("click", () => this.#choose((SPEEDS.indexOf(this.speed) + 1) % SPEEDS.length));
    parts.scrub.addEventListener("input", () => {
      this.pause();
      this.show(Number(parts.scrub.value));
    });
  }

  /** Show an episode; `film` is a video element that plays along, `still` shows the end only. */
  load(episode, { film = null, drawn = true, still = false } = {}) {
    this.pause();
    this.places = placesOf(episode);
    this.outcome = outcomeOf(episode, this.places);
    this.film = film;
    this.drawn = drawn;
    this.picture = draw(this.parts.drawing, episode, this.places, this.outcome, (i) => this.jump(i));
    this.last = this.places.length > 1 || !film ? this.places.length - 1 : FILM_PARTS;
    this.parts.scrub.max = Math.max(0, this.last);
    this.#showPlayer();
    this.#follow(film);
    this.now = 0;
    const quiet = still || calm.matches || !this.#moves();
    this.show(quiet ? this.last : 0);
    if (!quiet) this.play();
  }

  /** Stop, and show one moment. */
  jump(i) {
    this.pause();
    this.show(i);
  }

  /** Whether there is anything to play: a video, or steps that are shown. */
  #moves() {
    return this.film !== null || (this.drawn && this.places.length > 1);
  }

  #showPlayer() {
    this.parts.player.hidden = !this.#moves();
  }

  /** Show or hide the steps beside a recording. */
  showSteps(drawn) {
    this.drawn = drawn;
    this.#showPlayer();
    if (!this.#moves()) this.pause();
    this.show(this.now);
  }

  #follow(film) {
    if (!film) return;
    film.addEventListener("timeupdate", () => {
      if (this.film !== film || film.paused || !Number.isFinite(film.duration)) return;
      this.#place(Math.round((this.last * film.currentTime) / film.duration));
    });
    film.addEventListener("play", () => this.#say(true));
    film.addEventListener("pause", () => this.#say(false));
    film.addEventListener("durationchange", () => {
      if (this.film !== film) return;
      if (film.duration === Infinity) film.currentTime = ENDLESS;
      else if (film.paused) this.#seek();
    });
    film.addEventListener("ended", () => this.#place(this.last));
  }

  #seek() {
    if (!Number.isFinite(this.film?.duration)) return;
    this.film.currentTime = (this.film.duration * this.now) / Math.max(1, this.last);
  }

  /** Show one moment, in the drawing and in the film. */
  show(now) {
    this.#place(now);
    this.#seek();
  }

  #place(now) {
    this.now = Math.min(Math.max(now, 0), Math.max(0, this.last));
    const { scrub, caption, position } = this.parts;
    scrub.value = this.now;
    const place = this.places[this.now];
    const text = place ? describe(place, this.now) : "";
    scrub.setAttribute("aria-valuetext", text || `${this.now} of ${this.last}`);
    caption.textContent = this.drawn ? text : "";
    const steps = this.places.filter((one) => one.action !== null).length;
    position.textContent = place ? `step ${Math.min(this.now, steps)} of ${steps}` : "";
    if (place) this.picture?.show(this.now);
  }

  step(by) {
    if (!this.#moves()) return;
    this.pause();
    const stride = this.last === FILM_PARTS && this.places.length < 2 ? 20 : 1;
    this.show(this.now + by * stride);
  }

  toggle() {
    if (this.isPlaying) this.pause();
    else this.play();
  }

  get isPlaying() {
    return this.film ? !this.film.paused : this.timer !== null;
  }

  play() {
    this.pause();
    if (!this.#moves()) return;
    if (this.now >= this.last) this.show(0);
    if (this.film) {
      this.film.playbackRate = this.speed;
      this.film.play().catch(() => {}); // a browser may want a click first
      return;
    }
    const usual = Math.min(450, (MOST_SECONDS * 1000) / this.places.length);
    const each = usual / this.speed;
    const stride = Math.max(1, Math.round(16 / each)); // at most 60 frames a second
    this.timer = setInterval(() => {
      this.show(this.now + stride);
      if (this.now >= this.last) this.pause();
    }, each * stride);
    this.#say(true);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.film?.pause();
    this.#say(false);
  }

  /** Choose the next faster (1) or slower (-1) speed. */
  faster(by) {
    this.#choose(Math.min(Math.max(SPEEDS.indexOf(this.speed) + by, 0), SPEEDS.length - 1));
  }

  #choose(index) {
    this.speed = SPEEDS[index];
    localStorage.setItem(SPEED_KEY, this.speed);
    this.#showSpeed();
    if (this.film) this.film.playbackRate = this.speed;
    if (this.timer) this.play();
  }

  #showSpeed() {
    const words = this.speed === 0.5 ? "½×" : `${this.speed}×`;
    this.parts.speed.textContent = words;
    this.parts.speed.setAttribute("aria-label", `Speed ${words}`);
  }

  #say(playing) {
    this.parts.play.setAttribute("aria-label", playing ? "Pause" : "Play");
    this.parts.play.classList.toggle("playing", playing);
  }
}

function describe(place, i) {
  return place.action === null
    ? `The end: ${place.name}`
    : `Step ${i}: ${place.name} → ${place.action}`;
}
