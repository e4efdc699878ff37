// The list of conversations, looked at again and again: another tab, or a run that has ended
// unwatched, may have moved one on.

import * as api from "./api.js";
import { listItem } from "./view.js";

const INTERVAL = 5000; // milliseconds between two looks

export class Sidebar {
  constructor(list, older, { current, found, failed }) {
    Object.assign(this, { list, older, current, found, failed });
    this.pages = 1;
    this.drawn = "";
    older.addEventListener("click", () => {
      this.pages += 1;
      this.refresh();
    });
    document.addEventListener("visibilitychange", () => document.hidden || this.refresh());
    setInterval(() => document.hidden || this.refresh(), INTERVAL);
  }

  async refresh() {
    try {
      const rows = [];
      let next = null;
      for (let page = 0; page < this.pages && (page === 0 || next); page += 1) {
        const answer = await api.list(next);
        rows.push(...answer.conversations);
        next = answer.next;
      }
      this.older.hidden = next === null;
      this.draw(rows);
      this.found(rows);
    } catch (error) {
      this.failed(error);
    }
  }

  draw(rows) {
    const now = JSON.stringify([this.current(), rows]);
    if (now === this.drawn) return; // drawing again would disturb whoever reads or tabs through it
    this.drawn = now;
    const focused = this.list.contains(document.activeElement) ? document.activeElement.hash : null;
    this.list.replaceChildren(...rows.map((row) => listItem(row, this.current())));
    if (focused) this.list.querySelector(`a[href="${focused}"]`)?.focus();
  }

  mark() {
    this.drawn = "";
    for (const link of this.list.querySelectorAll("a")) {
      if (link.hash.slice(1) === this.current()) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  }
}
