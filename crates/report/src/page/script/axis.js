// Axes as crates/report/src/plot/axis.rs has them, ticks of a zoomed one, and values as text.
const BREAK = 0.09;
class Axis {
  constructor(text) {
    const [min, max, scale, per, unit] = text.split(" ");
    Object.assign(this, { min: +min, max: +max, scale, per: +per, unit, key: text });
  }
  place(value) {
    if (this.scale !== "log" && this.scale !== "zero") return (value - this.min) / (this.max - this.min);
    if (value <= 0 && this.scale === "zero") return 0;
    const from = this.scale === "zero" ? BREAK : 0;
    const above = Math.log(Math.max(value, this.min) / this.min) / Math.log(this.max / this.min);
    return from + above * (1 - from);
  }
  value(place) {
    if (this.scale !== "log" && this.scale !== "zero") return this.min + place * (this.max - this.min);
    const from = this.scale === "zero" ? BREAK : 0;
    if (this.scale === "zero" && place < from / 2) return 0;
    return this.min * (this.max / this.min) ** Math.max(0, (place - from) / (1 - from));
  }
  text(value) {
    if (["s", "ms", "\u00b5s", "ns"].includes(this.unit)) return span(value);
    const number = value === 0 ? 0 : Number((value / this.per).toPrecision(4));
    return this.unit ? `${number} ${this.unit}` : `${number}`;
  }
}

// A time in ns, in the unit that suits it.
const span = (ns, digits = 5) => {
  const units = [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"]];
  const [per, unit] = units.find(([per]) => Math.abs(ns) >= per) ?? units[3];
  return `${Number((ns / per).toPrecision(digits))} ${unit}`;
};

// Round values between two, about so many, with labels that need no more digits than their step.
const ticks = (from, to, per, count) => {
  const rough = (to - from) / per / Math.max(1, count);
  const decade = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * decade).find((s) => s >= rough) ?? decade;
  const digits = clamp(-Math.floor(Math.log10(step) + 1e-9), 0, 12);
  const out = [];
  for (let i = Math.ceil(from / per / step); i * step * per <= to; i++) {
    out.push({ value: i * step * per, label: (i * step).toFixed(digits) });
  }
  return out;
};
