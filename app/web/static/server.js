// Requests to this server, with its path prefix and the session's CSRF token.

const meta = (name) => document.querySelector(`meta[name="plaudit-${name}"]`)?.content ?? "";

export const root = meta("root");

/** An error response of the server. */
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? body.title ?? `The server answered ${status}.`);
    this.status = status;
    this.code = body.code;
  }
}

/** Send a request to a path such as "/v1/agents". Returns the JSON, or throws a Problem. */
export async function ask(method, path, body, options = {}) {
  const headers = { "X-CSRF-Token": meta("token"), Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await fetch(root + path, {
    method,
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
    credentials: "same-origin",
    ...options,
  });
  if (answer.status === 401) {
    const here = location.pathname.slice(root.length) + location.search;
    location.assign(`${root}/signin?next=${encodeURIComponent(here)}`);
  }
  const text = await answer.text();
  let content = {};
  try {
    content = text ? JSON.parse(text) : {};
  } catch {
    content = { detail: `The server answered ${answer.status}.` };
  }
  if (!answer.ok) throw new Problem(answer.status, content);
  return content;
}

/** The JSON that a page carries in `<script type="application/json" id=…>`. */
export function pageData(id) {
  return JSON.parse(document.getElementById(id).textContent);
}
