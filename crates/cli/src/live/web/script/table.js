"use strict";
// Tables of parts, a row kept for each part, and its delays over time.
const KEPT = 240;
const COLUMNS = ["a second", "mean", "99%", "longest", "bound", "late", "dropped", "over time", "facts"];
const SVG = "http://www.w3.org/2000/svg";
const make = (name, attributes = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
};
const digits = (value, n = 3) => (value >= 10 ** n ? Math.round(value) : Number(value.toPrecision(n)));
const ms = (value) => (value == null ? "\u2013" : `${digits(value)} ms`);
const count = (value) => (value == null ? "\u2013" : String(Math.round(value)));
const reasons = (part) => Object.entries(part.drop_reasons).map(([why, n]) => `${n} ${why}`).join(", ");
const keyOf = (part) => JSON.stringify([part.kind, part.of, part.name, part.process ?? 0]);
const WORDS = { media_server: "media server", cpu: "CPU" };

class PartRow {
  constructor(part) {
    const within = ["flow", "reservation", "task"].includes(part.kind);
    this.history = [];
    this.head = make("th", { scope: "row" });
    this.cells = COLUMNS.map(() => make("td"));
    this.cells[COLUMNS.length - 1].className = "facts";
    this.bound = document.createElementNS(SVG, "path");
    this.bound.setAttribute("class", "bound");
    this.trend = document.createElementNS(SVG, "path");
    this.trend.setAttribute("class", "trend");
    this.svg = document.createElementNS(SVG, "svg");
    this.svg.setAttribute("viewBox", "0 0 180 34");
    this.svg.setAttribute("role", "img");
    this.svg.append(this.bound, this.trend);
    this.cells[7].append(this.svg);
    this.row = make("tr", { class: within ? "within" : "whole" }, this.head, ...this.cells);
  }
  update(part) {
    this.words = `${WORDS[part.kind] ?? part.kind} ${part.of} ${part.name}`.toLowerCase();
    const within = this.row.className === "within";
    this.head.textContent = within ? part.name || part.process : `${part.of} (${part.name})`;
    const facts = [...part.facts, ...(reasons(part) ? [`Dropped: ${reasons(part)}.`] : [])];
    const texts = [count(part.per_second), ms(part.mean_ms), ms(part.p99_ms), ms(part.max_ms), ms(part.deadline_ms),
      String(part.deadline_misses), String(part.dropped)];
    texts.forEach((text, i) => (this.cells[i].textContent = text));
    this.cells[5].classList.toggle("late", part.deadline_misses > 0);
    this.cells[8].textContent = facts.join(" ");
    if (part.latest != null) this.history.push(part.latest);
    if (this.history.length > KEPT) this.history.shift();
    this.draw(part);
  }
  draw(part) {
    const delays = part.kind === "flow";
    const most = Math.max(...this.history, 0);
    const bound = delays ? part.deadline_ms : null;
    const top = Math.max(most, bound ?? 0) * 1.08 || 1;
    const y = (value) => (33 - (value / top) * 32).toFixed(1);
    const step = 180 / Math.max(1, KEPT - 1);
    const from = 180 - (this.history.length - 1) * step;
    this.trend.setAttribute("d", this.history.map((v, i) => `${i ? "L" : "M"}${(from + i * step).toFixed(1)},${y(v)}`).join(""));
    this.bound.setAttribute("d", bound == null ? "" : `M0,${y(bound)}H180`);
    const now = part.latest == null ? "nothing yet" : delays ? ms(part.latest) : `${count(part.latest)} a second`;
    this.svg.setAttribute("aria-label", `${now}${bound == null ? "" : ` of ${ms(bound)}`}`);
  }
}

class PartTable {
  constructor(place) {
    this.place = place;
    this.kinds = place.dataset.kinds.split(" ");
    this.rows = new Map();
    const heads = ["part", ...COLUMNS].map((name) => make("th", { scope: "col" }, name));
    this.body = make("tbody");
    const title = document.getElementById(place.parentElement.getAttribute("aria-labelledby")).textContent;
    this.table = make("table", { "aria-label": title }, make("thead", {}, make("tr", {}, ...heads)), this.body);
  }
  update(parts) {
    const rows = new Map();
    for (const part of parts.filter((p) => this.kinds.includes(p.kind))) {
      const key = keyOf(part);
      const row = this.rows.get(key) ?? new PartRow(part);
      row.update(part);
      rows.set(key, row);
    }
    const same = rows.size === this.rows.size && [...rows.keys()].every((key, i) => key === [...this.rows.keys()][i]);
    this.rows = rows;
    if (!same) this.body.replaceChildren(...[...rows.values()].map((row) => row.row));
    this.place.replaceChildren(...(rows.size ? [this.table] : []));
  }
  filter(words) {
    for (const row of this.rows.values()) row.row.hidden = !words.every((word) => row.words.includes(word));
  }
}
