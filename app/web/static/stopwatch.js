// How long an episode has been looked at: only while the page is visible.

export class Stopwatch {
  constructor() {
    this.restart();
    document.addEventListener("visibilitychange", () => (document.hidden ? this.#stop() : this.#go()));
  }

  restart() {
    this.before = 0;
    this.since = document.hidden ? null : performance.now();
  }

  #stop() {
    this.before = this.milliseconds;
    this.since = null;
  }

  #go() {
    this.since ??= performance.now();
  }

  get milliseconds() {
    return this.before + (this.since === null ? 0 : performance.now() - this.since);
  }

  /** Seconds with one decimal, at most a day. */
  get seconds() {
    return Math.min(86_400, Math.round(this.milliseconds / 100) / 10);
  }
}
