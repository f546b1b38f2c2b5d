// Swipes on a touch screen.

const FAR = 70; // pixels

/** Call `right` or `left` when a finger moves far enough across an element. */
export function onSwipe(area, { right, left }) {
  let start = null;
  area.addEventListener("touchstart", (event) => {
    const onControl = event.target.closest("input, button, .timeline, .plots");
    start = event.touches.length === 1 && !onControl ? event.touches[0] : null;
  }, { passive: true });
  area.addEventListener("touchend", (event) => {
    if (!start) return;
    const end = event.changedTouches[0];
    const [across, down] = [end.clientX - start.clientX, end.clientY - start.clientY];
    start = null;
    if (Math.abs(across) < FAR || Math.abs(across) < 2 * Math.abs(down)) return;
    if (across > 0) right();
    else left();
  }, { passive: true });
}
