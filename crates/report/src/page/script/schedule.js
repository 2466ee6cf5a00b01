// The whole schedule on a canvas: only what is in the window is drawn, and times shorter than a pixel as
// the share of it that they fill.
const HIGH = 24;
class ScheduleView {
  constructor(svg) {
    this.svg = svg;
    this.figure = svg.closest("figure");
    const data = JSON.parse(svg.dataset.schedule);
    svg.removeAttribute("data-schedule");
    svg.setAttribute("data-schedule", "");
    Object.assign(this, data);
    this.cpus = data.slices.length;
    this.window = Window.of({ min: 0, max: data.end, unit: "ns" }, 100000);
    this.window.members.push(this);
    const title = svg.querySelector("text.t")?.textContent ?? "";
    this.canvas = make("canvas", { tabindex: 0, role: "img", "aria-label": `The schedule under ${title}: arrow keys move, plus and minus zoom, 0 shows all` });
    const rows = (this.cpus > 1 ? this.cpus : 0) + this.names.length;
    this.canvas.style.height = `${rows * HIGH + 26}px`;
    this.strip = make("canvas", { class: "strip", "aria-hidden": "true" });
    const at = this.window;
    const tools = make("div", { class: "tools" },
      button("\u2212", "Zoom out", () => at.zoom(2)), button("+", "Zoom in", () => at.zoom(0.5)),
      button("\u25c0", "Back", () => at.pan(-0.5)), button("\u25b6", "On", () => at.pan(0.5)),
      button("All", "The whole run", () => at.reset()));
    this.misses = make("span", { class: "quiet" });
    this.box = make("div", { class: "schedule" }, make("h4", {}, title), tools, this.misses, this.canvas, this.strip);
    if (svg.dataset.of) this.box.dataset.of = svg.dataset.of;
    svg.before(this.box);
    svg.classList.add("drawn");
    zoomKeys(this.canvas, at);
    this.pointers();
    new ResizeObserver(() => this.changed()).observe(this.box);
    whenNear(this.box, () => this.changed());
  }
  // Slices of CPUs and of tasks, and jobs, in typed arrays.
  read() {
    const rows = this.slices.map((text) => {
      const reader = new Reader(text);
      const [from, to, task] = [[], [], []];
      for (let at = 0; reader.more; ) {
        at += reader.number();
        from.push(at);
        at += reader.number();
        to.push(at);
        task.push(reader.number());
      }
      return { from: Int32Array.from(from), to: Int32Array.from(to), task: Uint16Array.from(task) };
    });
    const tasks = this.names.map(() => []);
    for (const row of rows) for (let i = 0; i < row.from.length; i++) tasks[row.task[i]]?.push([row.from[i], row.to[i]]);
    const ofTasks = tasks.map((list, i) => {
      if (this.cpus > 1) list.sort((a, b) => a[0] - b[0]);
      return { from: Int32Array.from(list, (s) => s[0]), to: Int32Array.from(list, (s) => s[1]), own: i };
    });
    this.rows = this.cpus > 1 ? [...rows, ...ofTasks] : ofTasks;
    this.labels = [...(this.cpus > 1 ? rows.map((_, i) => `CPU ${i}`) : []), ...this.names];
    this.jobsOf = this.jobs.map((text) => {
      const reader = new Reader(text);
      const [release, due, end] = [[], [], []];
      for (let at = 0; reader.more; ) {
        at += reader.number();
        release.push(at);
        const deadline = reader.number();
        due.push(deadline < 0 ? -1 : at + deadline);
        end.push(at + reader.number());
      }
      return { release: Int32Array.from(release), due: Int32Array.from(due), end: Int32Array.from(end) };
    });
    const late = this.jobsOf.reduce((sum, j) => sum + j.due.reduce((n, d, i) => n + (d >= 0 && j.end[i] > d ? 1 : 0), 0), 0);
    this.misses.textContent = this.jobsOf.some((j) => j.due.some((d) => d >= 0)) ? `${late} deadlines missed` : "";
    this.slices = this.jobs = null;
  }
  colours() {
    const style = getComputedStyle(document.body);
    const of = (name) => style.getPropertyValue(`--${name}`).trim();
    this.colour = Object.fromEntries(["ink", "muted", "limit", "bg", "grid", "axis", "panel"].map((n) => [n, of(n)]));
    this.series = [...Array(8).keys()].map((n) => of(`c${n}`));
    this.font = style.fontFamily;
  }
  changed() {
    if (isNear(this.box) && this.box.clientWidth > 0) soon(this.again ??= () => this.draw());
  }
  pointed() {}
  // Sets the size, and a context whose unit is a pixel of the page.
  context(canvas, wide, high) {
    const dense = Math.min(2, devicePixelRatio || 1);
    if (canvas.width !== Math.round(wide * dense) || canvas.height !== Math.round(high * dense)) {
      canvas.width = Math.round(wide * dense);
      canvas.height = Math.round(high * dense);
      canvas.style.height = `${high}px`;
    }
    const c = canvas.getContext("2d");
    c.setTransform(dense, 0, 0, dense, 0, 0);
    c.fillStyle = this.colour.bg;
    c.fillRect(0, 0, wide, high);
    return c;
  }
  draw() {
    if (!this.rows) this.read();
    this.colours();
    const wide = this.box.clientWidth;
    const high = this.rows.length * HIGH + 26;
    const c = this.context(this.canvas, wide, high);
    c.font = `12px ${this.font}`;
    this.left = Math.min(wide * 0.3, Math.max(...this.labels.map((l) => c.measureText(l).width)) + 10);
    this.wide = wide - this.left - 8;
    const [from, to] = this.window.range.map((v) => v / this.unit);
    this.scale = this.wide / (to - from);
    this.from = from;
    this.axis(c, high);
    this.rows.forEach((row, i) => this.row(c, row, i, from, to));
    const hide = { i: isOff(this.figure, "i"), m: isOff(this.figure, "m"), l: isOff(this.figure, "l") };
    this.jobsOf.forEach((jobs, i) => this.job(c, jobs, i + this.rows.length - this.names.length, from, to, hide));
    c.fillStyle = this.colour.bg;
    c.fillRect(0, 0, this.left, high - 22);
    c.fillStyle = this.colour.ink;
    c.textAlign = "right";
    this.labels.forEach((label, i) => c.fillText(this.cut(c, label), this.left - 6, i * HIGH + 16));
    this.overview();
  }
  cut(c, label) {
    if (c.measureText(label).width <= this.left - 8) return label;
    let end = label.length;
    while (end > 1 && c.measureText(`${label.slice(0, end)}\u2026`).width > this.left - 8) end--;
    return `${label.slice(0, end)}\u2026`;
  }
  axis(c, high) {
    const [from, to] = this.window.range;
    const width = to - from;
    const [per, unit] = [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"]].find(([per]) => width >= 2 * per) ?? [1, "ns"];
    c.strokeStyle = this.colour.grid;
    c.fillStyle = this.colour.muted;
    c.textAlign = "center";
    c.lineWidth = 1;
    for (const { value, label } of ticks(from, to, per, clamp(this.wide / 110, 2, 9))) {
      const x = Math.round(this.left + ((value - from) / width) * this.wide) + 0.5;
      c.beginPath();
      c.moveTo(x, 0);
      c.lineTo(x, high - 22);
      c.stroke();
      const text = `${label} ${unit}`;
      const half = c.measureText(text).width / 2;
      c.fillText(text, clamp(x, half, this.left + this.wide + 8 - half), high - 7);
    }
  }
  row(c, row, place, from, to) {
    const { left, scale } = this;
    const top = place * HIGH + 5;
    const end = Math.ceil(this.wide);
    const full = (this.cover ??= new Float32Array(8192));
    const best = (this.best ??= new Float32Array(8192));
    const whose = (this.whose ??= new Uint16Array(8192));
    full.fill(0, 0, end + 2);
    best.fill(0, 0, end + 2);
    const names = [];
    for (let i = lowerBound(row.to, from); i < row.from.length && row.from[i] < to; i++) {
      const a = Math.max(0, (row.from[i] - from) * scale);
      const b = Math.min(this.wide, (row.to[i] - from) * scale);
      const task = row.own ?? row.task[i];
      const pixel = a | 0;
      if (b - a >= 1.5) {
        c.fillStyle = this.series[this.hues[task] % 8];
        c.fillRect(left + a, top, b - a, 14);
        if (this.hues[task] >= 8) {
          c.fillStyle = this.colour.bg;
          c.fillRect(left + a, top + 6, b - a, 2);
        }
        if (row.own === undefined && b - a > 24) names.push([task, a, b]);
        continue;
      }
      const split = Math.min(b, pixel + 1);
      full[pixel] += split - a;
      full[pixel + 1] += b - split;
      if (b - a > best[pixel]) {
        best[pixel] = b - a;
        whose[pixel] = task;
      }
    }
    // Neighbouring columns of a colour and a strength are one bar.
    for (let x = 0; x < end; ) {
      if (full[x] <= 0) {
        x++;
        continue;
      }
      const strength = Math.ceil(Math.min(1, full[x]) * 6);
      const task = row.own ?? whose[x];
      let last = x + 1;
      while (last < end && full[last] > 0 && Math.ceil(Math.min(1, full[last]) * 6) === strength && (row.own ?? whose[last]) === task) last++;
      c.globalAlpha = 0.25 + strength / 8;
      c.fillStyle = this.series[this.hues[task] % 8];
      c.fillRect(left + x, top, last - x, 14);
      x = last;
    }
    c.globalAlpha = 1;
    if (names.length > 200) return;
    c.textAlign = "left";
    c.lineJoin = "round";
    c.lineWidth = 3;
    for (const [task, a, b] of names) {
      const text = this.names[task];
      if (c.measureText(text).width + 6 > b - a) continue;
      c.strokeStyle = this.colour.bg;
      c.strokeText(text, left + a + 3, top + 11);
      c.fillStyle = this.colour.ink;
      c.fillText(text, left + a + 3, top + 11);
    }
  }
  job(c, { release, due, end }, place, from, to, hide) {
    const y = place * HIGH;
    const at = (t) => this.left + (t - from) * this.scale;
    const first = lowerBound(release, from);
    const few = lowerBound(release, to) - first < this.wide / 6;
    let lastMiss = -9;
    for (let i = Math.max(0, first - 50); i < release.length && release[i] < to; i++) {
      const x = at(release[i]);
      if (few && !hide.i && release[i] >= from) {
        c.fillStyle = this.colour.ink;
        c.beginPath();
        c.moveTo(x, y + 17);
        c.lineTo(x + 3.5, y + 23);
        c.lineTo(x - 3.5, y + 23);
        c.fill();
      }
      if (due[i] < from || due[i] > to) continue;
      const d = at(due[i]);
      if (few && !hide.m) {
        c.fillStyle = this.colour.muted;
        c.fillRect(d - 0.75, y + 2, 1.5, 20);
      }
      if (end[i] > due[i] && !hide.l && d - lastMiss >= 1) {
        c.strokeStyle = this.colour.limit;
        c.lineWidth = 2;
        c.beginPath();
        c.moveTo(d - 4, y + 8);
        c.lineTo(d + 4, y + 16);
        c.moveTo(d + 4, y + 8);
        c.lineTo(d - 4, y + 16);
        c.stroke();
        lastMiss = d;
      }
    }
  }
  overview() {
    const wide = this.left + this.wide + 8;
    const c = this.context(this.strip, wide, 16);
    const [from, to] = this.window.range.map((v) => (v / this.end) * this.wide + this.left);
    c.fillStyle = this.colour.panel;
    c.fillRect(this.left, 4, this.wide, 10);
    c.fillStyle = this.colour.axis;
    c.fillRect(from, 4, Math.max(3, to - from), 10);
  }
  pointers() {
    let drag = null;
    const px = (event, canvas) => event.clientX - canvas.getBoundingClientRect().left;
    const time = (event) => (this.from + (px(event, this.canvas) - this.left) / this.scale) * this.unit;
    this.canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      drag = { at: px(event, this.canvas), range: this.window.range };
      this.canvas.setPointerCapture(event.pointerId);
      hideTip();
    });
    this.canvas.addEventListener("pointermove", (event) => {
      if (!drag) return this.hover(event);
      const [from, to] = drag.range;
      const by = ((drag.at - px(event, this.canvas)) / this.wide) * (to - from);
      this.window.show(from + by, to + by);
    });
    for (const end of ["pointerup", "pointercancel"]) this.canvas.addEventListener(end, () => (drag = null));
    this.canvas.addEventListener("pointerleave", hideTip);
    this.canvas.addEventListener("dblclick", () => this.window.reset());
    this.canvas.addEventListener("wheel", (event) => wheel(event, this.window, () => time(event)), { passive: false });
    const jump = (event) => {
      if (event.buttons !== 1) return;
      const at = ((px(event, this.strip) - this.left) / this.wide) * this.end;
      const half = (this.window.range[1] - this.window.range[0]) / 2;
      this.window.show(at - half, at + half);
    };
    this.strip.addEventListener("pointerdown", (event) => {
      this.strip.setPointerCapture(event.pointerId);
      jump(event);
    });
    this.strip.addEventListener("pointermove", jump);
  }
  hover(event) {
    if (!this.rows) return;
    const box = this.canvas.getBoundingClientRect();
    const place = Math.floor((event.clientY - box.top) / HIGH);
    const row = this.rows[place];
    const at = this.from + (event.clientX - box.left - this.left) / this.scale;
    if (!row || event.clientX - box.left < this.left) return hideTip();
    const reach = 2 / this.scale;
    const i = lowerBound(row.to, at - reach);
    const found = i < row.from.length && row.from[i] <= at + reach;
    const name = this.labels[place];
    if (!found) return showTip(event, span(at * this.unit, 8), [{ name, value: row.own === undefined ? "idle" : "not running" }]);
    const [from, to] = [row.from[i] * this.unit, row.to[i] * this.unit];
    const what = row.own === undefined ? `${this.names[row.task[i]]} on ${name}` : name;
    showTip(event, what, [{ name: "from", value: span(from, 8) }, { name: "to", value: span(to, 8) }, { name: "for", value: span(to - from) }]);
  }
}

for (const svg of all("figure svg[data-x]")) {
  panels.set(svg, svg.dataset.schedule ? new ScheduleView(svg) : new Panel(svg));
}
if (windows.size > 0) {
  const hint = "Drag across a plot to zoom it and all with the same axis, drag a schedule to move it; double-click for everything. Keys: + \u2212 0, arrows.";
  document.getElementById("main").before(make("p", { class: "note hint" }, hint));
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const panel of panels.values()) panel.changed();
});
document.documentElement.classList.add("scripted");
performance.mark("laxity-ready");
