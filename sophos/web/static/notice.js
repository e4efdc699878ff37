// What whoever watches should know of this server: what is switched off, and what to mend.

import * as api from "./api.js";

const FINE = { storage: "ok", model: "ok", tools: "ok", protections: "all on" };

export async function tell(element) {
  const checks = await api.checks();
  const lines = Object.entries(FINE)
    .filter(([name, fine]) => (checks[name] ?? fine) !== fine)
    .map(([name]) => `${name}: ${checks[name]}`);
  element.textContent = lines.join("\n");
  element.hidden = lines.length === 0;
}
