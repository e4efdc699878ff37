// One run's events. The browser reconnects by itself and names the last event it had, so nothing
// is lost or told twice; after the end it must be told to stop, or it comes back for ever.

export function watch(conversation, run, on) {
  const source = new EventSource(`/api/chat?conversation=${conversation}&run=${run}`);
  const heard = (name, then) =>
    source.addEventListener(name, (event) => then(JSON.parse(event.data)));
  const over = (outcome) => {
    source.close();
    on.over(outcome);
  };
  heard("token", on.token);
  heard("trace", on.trace);
  heard("gap", on.gap);
  heard("end", (data) => over(data.status));
  heard("chat-error", () => over("failed"));
  source.addEventListener("open", on.connected);
  source.addEventListener("error", () => {
    // CLOSED: refused, or answered with 204. Otherwise it is already trying again.
    if (source.readyState === EventSource.CLOSED) on.closed();
    else on.reconnecting();
  });
  return source;
}
