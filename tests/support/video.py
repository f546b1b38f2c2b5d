"""A short video, made by the browser itself."""

import base64

_RECORD = """() => new Promise((done) => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 64;
  const context = canvas.getContext("2d");
  const recorder = new MediaRecorder(canvas.captureStream(20), { mimeType: "video/webm" });
  const parts = [];
  recorder.ondataavailable = (event) => parts.push(event.data);
  recorder.onstop = () => {
    const reader = new FileReader();
    reader.onload = () => done(reader.result.split(",")[1]);
    reader.readAsDataURL(new Blob(parts));
  };
  let i = 0;
  recorder.start();
  const timer = setInterval(() => {
    context.fillStyle = `hsl(${i * 20} 80% 50%)`;
    context.fillRect(0, 0, 64, 64);
    if (++i === 30) { clearInterval(timer); recorder.stop(); }
  }, 50);
})"""


def webm(chromium):
    """About two seconds of changing colours, as a WebM file without a duration in its head."""
    page = chromium.new_page()
    try:
        return base64.b64decode(page.evaluate(_RECORD))
    finally:
        page.close()
