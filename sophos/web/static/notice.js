// What whoever watches should know of this server: what is switched off, and what to mend.

const FINE = { storage: "ok", model: "ok", tools: "ok", protections: "all on" };

export function noticeText(checks) {
  return Object.entries(FINE)
    .filter(([name, fine]) => (checks[name] ?? fine) !== fine)
    .map(([name]) => `${name}: ${checks[name]}`)
    .join("\n");
}
