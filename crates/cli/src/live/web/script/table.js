"use strict";
// Tables of parts: the delays of each over time are kept, and rows are made for those in view.
const KEPT = 240;
const COLUMNS = ["a second", "mean", "99%", "longest", "bound", "late", "dropped", "over time", "facts"];
// Above so many parts a table has a height, scrolls, and has rows of one height.
const WHOLE = 60;
const ROW = 46;
const SPARE = 8;
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
const keyOf = (part) => `${part.kind}\n${part.of}\n${part.name}\n${part.process ?? 0}`;
const samePart = (a, b) => a.name === b.name && a.of === b.of && a.kind === b.kind && (a.process ?? 0) === (b.process ?? 0);
const WORDS = { media_server: "media server", cpu: "CPU" };
const gained = ({ gain }) =>
  gain ? [`Simulated from the counts: best effort waits ${ms(gain.mean_ms)}, under strict priority ${ms(gain.strict_mean_ms)}.`] : [];

// The latest values of a part, the oldest first; memory is reserved as they come.
class History {
  constructor() {
    this.values = new Float64Array(16);
    this.length = 0;
    this.start = 0;
  }
  push(value) {
    if (this.length === KEPT) {
      this.values[this.start] = value;
      this.start = (this.start + 1) % KEPT;
      return;
    }
    if (this.length === this.values.length) {
      const more = new Float64Array(Math.min(KEPT, 4 * this.length));
      more.set(this.values);
      this.values = more;
    }
    this.values[this.length] = value;
    this.length += 1;
  }
  list() {
    return [...this.values.subarray(this.start, this.length), ...this.values.subarray(0, this.start)];
  }
}

class PartRow {
  constructor() {
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
    this.row = make("tr", {}, this.head, ...this.cells);
  }
  show({ part, history }) {
    const within = ["flow", "reservation", "task"].includes(part.kind);
    this.row.className = within ? "within" : "whole";
    this.head.textContent = within ? part.name || part.process : `${part.of} (${part.name})`;
    const facts = [...part.facts, ...gained(part), ...(reasons(part) ? [`Dropped: ${reasons(part)}.`] : [])];
    const texts = [count(part.per_second), ms(part.mean_ms), ms(part.p99_ms), ms(part.max_ms), ms(part.deadline_ms),
      String(part.deadline_misses), String(part.dropped)];
    texts.forEach((text, i) => (this.cells[i].textContent = text));
    this.cells[5].classList.toggle("late", part.deadline_misses > 0);
    this.cells[8].textContent = facts.join(" ");
    this.draw(part, history.list());
  }
  draw(part, history) {
    const delays = part.kind === "flow";
    const most = Math.max(...history, 0);
    const bound = delays ? part.deadline_ms : null;
    const top = Math.max(most, bound ?? 0) * 1.08 || 1;
    const y = (value) => (33 - (value / top) * 32).toFixed(1);
    const step = 180 / Math.max(1, KEPT - 1);
    const from = 180 - (history.length - 1) * step;
    this.trend.setAttribute("d", history.map((v, i) => `${i ? "L" : "M"}${(from + i * step).toFixed(1)},${y(v)}`).join(""));
    this.bound.setAttribute("d", bound == null ? "" : `M0,${y(bound)}H180`);
    const now = part.latest == null ? "nothing yet" : delays ? ms(part.latest) : `${count(part.latest)} a second`;
    this.svg.setAttribute("aria-label", `${now}${bound == null ? "" : ` of ${ms(bound)}`}`);
  }
}

class PartTable {
  constructor(place) {
    this.place = place;
    this.kinds = place.dataset.kinds.split(" ");
    // Of each part: itself, its words, its delays so far; in the order in which they come.
    this.all = [];
    this.words = [];
    this.matching = [];
    // Rows by the part that they show, and rows to use again.
    this.rows = new Map();
    this.spare = [];
    const heads = ["part", ...COLUMNS].map((name) => make("th", { scope: "col" }, name));
    this.above = make("tr", { "aria-hidden": "true" }, make("td", { colspan: heads.length }));
    this.below = make("tr", { "aria-hidden": "true" }, make("td", { colspan: heads.length }));
    this.body = make("tbody");
    const title = document.getElementById(place.parentElement.getAttribute("aria-labelledby")).textContent;
    this.table = make("table", { "aria-label": title }, make("thead", {}, make("tr", {}, ...heads)), this.body);
    place.addEventListener("scroll", () => this.show(), { passive: true });
  }
  update(parts) {
    const own = parts.filter((part) => this.kinds.includes(part.kind));
    // Mostly the same parts as before: then no names are compared with all others.
    const same = own.length === this.all.length && own.every((part, i) => samePart(part, this.all[i].part));
    if (!same) {
      const before = new Map(this.all.map((entry) => [entry.key, entry]));
      this.all = own.map((part) => {
        const key = keyOf(part);
        return before.get(key) ?? {
          key, history: new History(), words: `${WORDS[part.kind] ?? part.kind} ${part.of} ${part.name}`.toLowerCase() };
      });
    }
    own.forEach((part, i) => {
      const entry = this.all[i];
      entry.part = part;
      if (part.latest != null) entry.history.push(part.latest);
    });
    if (same) this.show();
    else this.filter(this.words);
  }
  filter(words) {
    this.words = words;
    this.matching = this.all.filter((entry) => words.every((word) => entry.words.includes(word)));
    this.show();
  }
  show() {
    const parts = this.matching.length;
    const long = parts > WHOLE;
    this.place.classList.toggle("long", long);
    if (this.all.length === 0) return this.place.replaceChildren();
    if (this.table.parentElement !== this.place) this.place.replaceChildren(this.table);
    const height = this.place.clientHeight || 600;
    const last = Math.max(0, parts - Math.ceil(height / ROW));
    const first = long ? Math.min(last, Math.max(0, Math.floor(this.place.scrollTop / ROW) - SPARE)) : 0;
    const end = long ? Math.min(parts, first + Math.ceil(height / ROW) + 2 * SPARE) : parts;
    const view = this.matching.slice(first, end);
    const keys = new Set(view.map((entry) => entry.key));
    for (const [key, row] of this.rows) {
      if (!keys.has(key)) {
        this.rows.delete(key);
        this.spare.push(row);
      }
    }
    const rows = view.map((entry) => {
      const row = this.rows.get(entry.key) ?? this.spare.pop() ?? new PartRow();
      this.rows.set(entry.key, row);
      row.show(entry);
      return row.row;
    });
    this.above.firstChild.style.height = `${first * ROW}px`;
    this.below.firstChild.style.height = `${(parts - end) * ROW}px`;
    const wanted = long ? [this.above, ...rows, this.below] : rows;
    const same = wanted.length === this.body.children.length && wanted.every((row, i) => row === this.body.children[i]);
    if (!same) this.body.replaceChildren(...wanted);
    this.table.setAttribute("aria-rowcount", String(parts + 1));
  }
}
