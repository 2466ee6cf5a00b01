// Panels with lines, columns and stems: drawn again from their values when their window changes.
const panels = new Map();
const short = (v) => Math.round(v * 10) / 10;
class Panel {
  constructor(svg) {
    this.svg = svg;
    this.x = new Axis(svg.dataset.x);
    this.y = new Axis(svg.dataset.y);
    [this.left, this.right, this.top, this.bottom] = svg.dataset.frame.split(" ").map(Number);
    this.figure = svg.closest("figure");
    this.marks = all("g[data-m]", svg).map((g) => ({
      g,
      kind: g.dataset.m,
      key: g.dataset.k,
      text: g.dataset.v,
      first: null,
    }));
    this.zoomed = false;
    if (svg.hasAttribute("data-zoom")) {
      this.window = Window.of(this.x, 1000);
      this.window.members.push(this);
      zoomKeys(svg, this.window);
      this.drags();
    }
    set(svg, { tabindex: 0 });
    hovers(this);
    whenNear(svg, () => this.changed());
  }
  at(value) {
    const [from, to] = this.window ? this.window.range : [this.x.min, this.x.max];
    return this.left + ((value - from) / (to - from)) * (this.right - this.left);
  }
  value(px) {
    const [from, to] = this.window ? this.window.range : [this.x.min, this.x.max];
    return from + ((px - this.left) / (this.right - this.left)) * (to - from);
  }
  up(value) {
    return this.bottom - this.y.place(value) * (this.bottom - this.top);
  }
  // A place on the screen in the units of the picture.
  local(event) {
    const box = this.svg.getBoundingClientRect();
    const scale = this.svg.viewBox.baseVal.width / box.width;
    return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  }
  changed() {
    if (this.window && (!this.window.whole || this.zoomed) && isNear(this.svg)) soon(this.again ??= () => this.draw());
  }
  draw() {
    this.zoomed = !this.window.whole;
    for (const mark of this.marks) mark.first ??= mark.g.innerHTML;
    const [from, to] = this.window.range;
    this.axis(from, to);
    for (const mark of this.marks) {
      if (mark.kind === "move") {
        const x = this.at(this.x.value(+mark.text));
        mark.g.setAttribute("transform", `translate(${short(x - this.left - +mark.text * (this.right - this.left))},0)`);
        mark.g.classList.toggle("out", x < this.left - 0.5 || x > this.right + 0.5);
      } else if (!this.zoomed) {
        mark.g.innerHTML = mark.first;
      } else {
        this[mark.kind](mark, from, to);
      }
    }
  }
  axis(from, to) {
    const g = this.svg.querySelector("g.tx");
    this.firstTicks ??= g.innerHTML;
    const grid = this.svg.querySelector("path.gx");
    this.firstGrid ??= grid?.getAttribute("d");
    if (!this.zoomed) {
      g.innerHTML = this.firstTicks;
      if (grid) grid.setAttribute("d", this.firstGrid);
      return;
    }
    const list = ticks(from, to, this.x.per, clamp((this.right - this.left) / 70, 2, 10));
    g.replaceChildren(
      ...list.map(({ value, label }) => {
        const at = clamp(this.at(value), this.left + label.length * 2, this.right - label.length * 2);
        const text = shape("text", { class: "q", x: short(at), y: this.bottom + 15, "text-anchor": "middle" });
        text.textContent = label;
        return text;
      }),
    );
    const d = list.map(({ value }) => `M${Math.round(this.at(value))},${this.top}V${this.bottom}`).join("");
    if (grid) grid.setAttribute("d", d);
  }
  // The polyline inside the window, cut at its ends.
  cut(mark, from, to) {
    const { xs, ys } = points(mark, this.x, this.y);
    const out = [];
    const crossing = (i, x) => {
      const t = (x - xs[i - 1]) / (xs[i] - xs[i - 1]);
      const [a, b] = [this.up(ys[i - 1]), this.up(ys[i])];
      return [this.at(x), a + t * (b - a)];
    };
    const first = Math.max(0, lowerBound(xs, from) - 1);
    for (let i = first; i < xs.length; i++) {
      const inside = xs[i] >= from && xs[i] <= to;
      if (i > first && (xs[i - 1] < from) !== (xs[i] < from)) out.push(crossing(i, from));
      if (i > first && xs[i - 1] <= to && xs[i] > to) out.push(crossing(i, to));
      if (inside) out.push([this.at(xs[i]), this.up(ys[i])]);
      if (xs[i] > to) break;
    }
    return out;
  }
  line(mark, from, to) {
    const [path, ...markers] = mark.g.children;
    const line = this.cut(mark, from, to);
    path?.setAttribute("d", line.map(([x, y], i) => `${i ? "L" : "M"}${short(x)},${short(y)}`).join(""));
    for (const marker of markers) marker.remove();
    const sample = this.figure.querySelector(`.legend [data-k="${mark.key}"] svg path:nth-child(2)`);
    if (!sample) return;
    let next = 20 + (Number(mark.key) % 6) * 11;
    for (let i = 1; i < line.length; i++) {
      const [[ax, ay], [bx, by]] = [line[i - 1], line[i]];
      const length = Math.hypot(bx - ax, by - ay);
      for (; length > 0 && next <= length; next += 64) {
        const t = next / length;
        const at = `translate(${short(ax + t * (bx - ax) - 15)},${short(ay + t * (by - ay) - 6)})`;
        mark.g.append(set(sample.cloneNode(), { transform: at }));
      }
      next -= length;
    }
  }
  area(mark, from, to) {
    const line = this.cut(mark, from, to);
    if (line.length === 0) return;
    const d = line.map(([x, y], i) => `${i ? "L" : "M"}${short(x)},${short(y)}`).join("");
    mark.g.firstChild?.setAttribute("d", `${d}V${this.bottom}H${short(line[0][0])}z`);
  }
  // The greatest value in each pixel column, as [column, height].
  tops(mark, from, to) {
    const { xs, ys } = points(mark, this.x, this.y);
    const tops = new Map();
    for (let i = lowerBound(xs, from); i < xs.length && xs[i] <= to; i++) {
      const column = Math.floor(this.at(xs[i]));
      const y = this.up(ys[i]);
      if (!(tops.get(column) <= y)) tops.set(column, y);
    }
    return [...tops];
  }
  sky(mark, from, to) {
    const { xs } = points(mark, this.x, this.y);
    // One value stands for as much time as the file distinguishes.
    const wide = Math.max(1, short(((this.right - this.left) * (this.x.max - this.x.min)) / 1500 / (to - from)));
    const bars = this.tops(mark, from, to).map(([x, y]) => `M${xs.length < 1500 ? x : x - wide / 2},${this.bottom}V${short(y)}h${xs.length < 1500 ? 1 : wide}V${this.bottom}z`);
    mark.g.firstChild?.setAttribute("d", bars.join(""));
  }
  stem(mark, from, to) {
    const tops = this.tops(mark, from, to);
    const [stems, dots] = mark.g.children;
    stems?.setAttribute("d", tops.map(([x, y]) => `M${x + 0.5},${this.bottom}V${short(y)}`).join(""));
    dots?.setAttribute("d", tops.map(([x, y]) => `M${x + 0.5},${short(y)}h0`).join(""));
  }
  // A drag chooses a window; with shift, or more than one finger, it moves the one there is.
  drags() {
    let start = null;
    const box = shape("rect", { class: "chosen", y: this.top, height: this.bottom - this.top });
    this.svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      start = { px: this.local(event)[0], range: this.window.range, pan: event.shiftKey };
      this.svg.setPointerCapture(event.pointerId);
    });
    this.svg.addEventListener("pointermove", (event) => {
      if (!start) return;
      const px = clamp(this.local(event)[0], this.left, this.right);
      if (start.pan) {
        const [from, to] = start.range;
        const by = ((start.px - px) / (this.right - this.left)) * (to - from);
        this.window.show(from + by, to + by);
      } else {
        this.svg.append(set(box, { x: Math.min(start.px, px), width: Math.abs(px - start.px) }));
      }
    });
    const end = (event) => {
      box.remove();
      if (start && !start.pan && event.type === "pointerup") {
        const [a, b] = [start.px, clamp(this.local(event)[0], this.left, this.right)].sort((a, b) => a - b);
        if (b - a > 4) this.window.show(this.value(Math.max(a, this.left)), this.value(b));
      }
      start = null;
    };
    this.svg.addEventListener("pointerup", end);
    this.svg.addEventListener("pointercancel", end);
    this.svg.addEventListener("dblclick", () => this.window.reset());
    this.svg.addEventListener("wheel", (event) => wheel(event, this.window, () => this.value(this.local(event)[0])), { passive: false });
  }
}
// With control the wheel zooms, sideways it moves; else the page scrolls.
const wheel = (event, window, at) => {
  const sideways = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
  if (event.ctrlKey || event.metaKey) window.zoom(2 ** clamp(event.deltaY / 200, -2, 2), at());
  else if (Math.abs(sideways) > (event.shiftKey ? 0 : Math.abs(event.deltaY))) window.pan(sideways / 1000);
  else return;
  event.preventDefault();
};
