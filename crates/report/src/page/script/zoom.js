// Windows on horizontal axes: panels whose axis is the same share one.
const windows = new Map();
class Window {
  constructor(from, to, least) {
    this.full = [from, to];
    this.range = [from, to];
    this.least = least;
    this.members = [];
    this.cursor = null;
  }
  static of(axis, least) {
    const key = `${axis.min} ${axis.max} ${/s$/.test(axis.unit) ? "time" : axis.unit}`;
    const found = windows.get(key) ?? new Window(axis.min, axis.max, (axis.max - axis.min) / least);
    found.least = Math.min(found.least, (axis.max - axis.min) / least);
    windows.set(key, found);
    return found;
  }
  get whole() {
    return this.range[0] <= this.full[0] && this.range[1] >= this.full[1];
  }
  show(from, to) {
    const [first, last] = this.full;
    const wide = clamp(to - from, this.least, last - first);
    const start = clamp(from + (to - from - wide) / 2, first, last - wide);
    this.range = [start, start + wide];
    this.changed();
  }
  zoom(factor, at = (this.range[0] + this.range[1]) / 2) {
    const [from, to] = this.range;
    const wide = clamp((to - from) * factor, this.least, this.full[1] - this.full[0]);
    const start = at - ((at - from) / (to - from)) * wide;
    this.show(start, start + wide);
  }
  pan(share) {
    const by = share * (this.range[1] - this.range[0]);
    this.show(this.range[0] + by, this.range[1] + by);
  }
  reset() {
    this.show(...this.full);
  }
  changed() {
    for (const member of this.members) member.changed();
  }
  point(value) {
    this.cursor = value;
    for (const member of this.members) member.pointed();
  }
}

// Keys of a panel that has the focus.
const zoomKeys = (element, window) => {
  element.addEventListener("keydown", (event) => {
    const keys = {
      "+": () => window.zoom(0.5),
      "=": () => window.zoom(0.5),
      "-": () => window.zoom(2),
      "0": () => window.reset(),
      Home: () => window.show(window.full[0], window.full[0] + window.range[1] - window.range[0]),
      End: () => window.show(window.full[1] - window.range[1] + window.range[0], window.full[1]),
      ArrowLeft: () => window.pan(-0.2),
      ArrowRight: () => window.pan(0.2),
    };
    if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  });
};
