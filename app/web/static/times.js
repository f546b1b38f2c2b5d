// Times as people say them: relative, with the full local time on hover.

const UNITS = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];
const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const full = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" });

function relative(date) {
  const seconds = (date.getTime() - Date.now()) / 1000;
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size) return words.format(Math.round(seconds / size), unit);
  }
  return "just now";
}

/** Write every time below an element in words. */
export function tellTimes(below = document) {
  for (const time of below.querySelectorAll("time[datetime]")) {
    const date = new Date(time.dateTime);
    if (Number.isNaN(date.getTime())) continue;
    time.textContent = relative(date);
    time.title = full.format(date);
  }
}

tellTimes();
document.addEventListener("plaudit:swapped", (event) => tellTimes(event.detail));
setInterval(tellTimes, 30_000);
