// One run's events, as long as the connection lasts. The browser's own reconnection is not used: it
// knows no back-off, and cannot tell that another process answers now (connection.js does both).

import { streamPath } from "./api.js";

const EVENTS = ["token", "trace", "gap", "end", "chat-error", "ping"];
const SILENCE = 45_000; // milliseconds; the server says `ping` every 15 seconds
const LOOK = 5_000;

// `on.event(name, data, n)` for every event, n its number within the run or null; `on.opened()`;
// `on.lost()` once, when nothing more will come and no end was heard.
export function watch(conversation, run, after, on) {
  const source = new EventSource(streamPath(conversation, run, after));
  let heardAt = performance.now();
  // A frozen server and a sleeping computer leave a connection open that says nothing more.
  const watchdog = setInterval(() => performance.now() - heardAt > SILENCE && lose(), LOOK);
  const close = () => {
    clearInterval(watchdog);
    source.close();
  };
  const lose = () => {
    close();
    on.lost();
  };
  for (const name of EVENTS) {
    source.addEventListener(name, ({ data, lastEventId }) => {
      heardAt = performance.now();
      if (name === "ping") return;
      if (name === "end" || name === "chat-error") close();
      const numbered = lastEventId.startsWith(`${run}:`);
      on.event(name, JSON.parse(data), numbered ? Number(lastEventId.slice(run.length + 1)) : null);
    });
  }
  source.addEventListener("open", on.opened);
  source.addEventListener("error", lose);
  return { close };
}
