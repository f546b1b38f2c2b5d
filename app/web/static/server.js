// Talks to this server: under any path, with the token of the session.

const meta = (name) => document.querySelector(`meta[name="plaudit-${name}"]`)?.content ?? "";

export const root = meta("root");

/** What went wrong, as the server said it. */
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? body.title ?? `the server answered ${status}`);
    this.status = status;
    this.code = body.code;
  }
}

/** Send a request below the root, such as "/v1/agents"; the answer's JSON, or a Problem is thrown. */
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
    content = { detail: `the server answered ${answer.status}` };
  }
  if (!answer.ok) throw new Problem(answer.status, content);
  return content;
}

/** The JSON that a page carries in `<script type="application/json" id=…>`. */
export function pageData(id) {
  return JSON.parse(document.getElementById(id).textContent);
}
