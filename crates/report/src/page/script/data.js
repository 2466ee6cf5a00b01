// Numbers written by crates/report/src/plot/live.rs and schedule.rs.
const DIGIT = new Uint8Array(128);
[..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"].forEach((c, i) => {
  DIGIT[c.charCodeAt(0)] = i;
});
class Reader {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }
  get more() {
    return this.at < this.text.length;
  }
  // A signed number of variable length, five bits a digit.
  number() {
    let value = 0;
    for (let shift = 0; ; shift += 5) {
      const digit = DIGIT[this.text.charCodeAt(this.at++)];
      value |= (digit & 31) << shift;
      if (digit < 32) return value & 1 ? -(value >>> 1) : value >>> 1;
    }
  }
  // Three digits, as a share of one.
  share() {
    let value = 0;
    for (let i = 0; i < 3; i++) value = value * 64 + DIGIT[this.text.charCodeAt(this.at++)];
    return value / 262143;
  }
}

// The points of a mark in data units, read once.
const points = (mark, x, y) => {
  if (!mark.points) {
    const reader = new Reader(mark.text);
    const xs = [];
    const ys = [];
    for (let at = 0; reader.more; ) {
      at += reader.number();
      xs.push(x.min + (at / 16777216) * (x.max - x.min));
      ys.push(y.value(reader.share()));
    }
    mark.points = { xs, ys };
    mark.text = "";
  }
  return mark.points;
};

// The first index whose value is not below `value`; `xs` rises.
const lowerBound = (xs, value) => {
  let [low, high] = [0, xs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
};
