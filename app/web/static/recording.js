// The recording of an episode as an element: a video that plays along, or a picture.

import { root } from "./server.js";

export function recordingElement({ id, recording: { media_type, version } }) {
  const isVideo = media_type.startsWith("video/");
  const film = document.createElement(isVideo ? "video" : "img");
  if (isVideo) {
    Object.assign(film, { muted: true, playsInline: true, preload: "auto" });
    film.setAttribute("aria-label", "Recording of the episode");
  } else {
    film.alt = "Recording of the episode";
  }
  film.src = `${root}/v1/episodes/${id}/recording?v=${version}`;
  return film;
}
