// The list of conversations, looked at again and again: another tab, or a run that has ended
// unwatched, may have moved one on.

import * as api from "./api.js";
import { button, count, element, Kept, place, statusElement, timeElement } from "./elements.js";

const INTERVAL = 5000; // milliseconds between two looks

export class Sidebar {
  // `on`: found(rows, whole), failed(error), remove(row).
  constructor(list, older, current, on) {
    Object.assign(this, { list, older, current, on });
    this.pages = 1;
    this.rows = [];
    this.looking = false; // a frozen server is not asked more and more
    this.kept = new Kept();
    this.tabs = new BroadcastChannel(`sophos ${location.pathname}`);
    this.tabs.addEventListener("message", () => this.refresh());
    older.addEventListener("click", () => {
      this.pages += 1;
      this.refresh();
    });
    const look = () => document.hidden || this.looking || this.refresh();
    document.addEventListener("visibilitychange", look);
    setInterval(look, INTERVAL);
  }

  // Something was changed here: the other tabs should look too.
  changed() {
    this.tabs.postMessage("changed");
    return this.refresh();
  }

  async refresh() {
    this.looking = true;
    try {
      const rows = [];
      let next = null;
      for (let page = 0; page < this.pages && (page === 0 || next); page += 1) {
        const answer = await api.list(next);
        rows.push(...answer.conversations);
        next = answer.next;
      }
      this.older.hidden = next === null;
      this.rows = rows;
      this.draw();
      this.on.found(rows, next === null);
    } catch (error) {
      this.on.failed(error);
    } finally {
      this.looking = false;
    }
  }

  draw() {
    const current = this.current();
    const items = this.rows.map((row) =>
      this.kept.get(row.id, [row, row.id === current, new Date().toDateString()], () => this.item(row, current)),
    );
    place(this.list, items);
    this.kept.settle();
  }

  item(row, current) {
    const title = row.title || "Untitled";
    const facts = element("span", "facts");
    if (row.status) facts.append(statusElement(row.status), " ");
    if (row.message_count !== null) facts.append(element("span", "", count(row.message_count, "message")), " ");
    facts.append(timeElement(row.updated_at));
    const link = element("a", "", element("span", "name", title), facts);
    link.href = `#${row.id}`;
    link.title = title;
    if (row.id === current) link.setAttribute("aria-current", "page");
    const remove = button("remove", "×", () => this.on.remove(row));
    remove.setAttribute("aria-label", `Delete ${title}`);
    remove.title = "Delete";
    return element("li", "", link, remove);
  }
}
