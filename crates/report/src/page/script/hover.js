// Values under the pointer: a line across all panels of the axis, and a note beside it.
const tip = make("div", { id: "tip", role: "status" });
document.body.append(tip);
const showTip = (event, title, rows) => {
  tip.replaceChildren(make("strong", {}, title));
  for (const { sample, name, value } of rows) {
    const row = make("div", {});
    if (sample) row.append(sample);
    row.append(name ? `${name}: ` : "", make("b", {}, value));
    tip.append(row);
  }
  tip.classList.add("shown");
  const box = tip.getBoundingClientRect();
  const { clientWidth: wide, clientHeight: high } = document.documentElement;
  const left = event.clientX + 16 + box.width > wide ? event.clientX - 16 - box.width : event.clientX + 16;
  const top = event.clientY + 16 + box.height > high ? event.clientY - 16 - box.height : event.clientY + 16;
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, top)}px`;
};
const hideTip = () => tip.classList.remove("shown");

// The value of a mark at a place, if it has one there.
const valueAt = (panel, mark, value) => {
  const { xs, ys } = points(mark, panel.x, panel.y);
  if (xs.length === 0) return null;
  const i = lowerBound(xs, value);
  if (mark.kind === "line" || mark.kind === "area") {
    if (i === 0) return xs[0] === value ? ys[0] : null;
    if (i === xs.length) return null;
    const t = xs[i] === xs[i - 1] ? 1 : (value - xs[i - 1]) / (xs[i] - xs[i - 1]);
    return ys[i - 1] + t * (ys[i] - ys[i - 1]);
  }
  // The nearest of the pixels around.
  const reach = Math.abs(panel.value(panel.left + 3) - panel.value(panel.left));
  const nearest = [i - 1, i].filter((k) => k >= 0 && k < xs.length && Math.abs(xs[k] - value) <= reach);
  return nearest.length ? Math.max(...nearest.map((k) => ys[k])) : null;
};

const hovers = (panel) => {
  const { svg, figure } = panel;
  const hints = svg.dataset.hints ? JSON.parse(svg.dataset.hints) : null;
  const cross = shape("path", { class: "cross" });
  panel.pointed = () => {
    const at = panel.window?.cursor;
    if (at == null) return cross.remove();
    const x = panel.at(at);
    if (x < panel.left || x > panel.right) return cross.remove();
    svg.append(set(cross, { d: `M${short(x)},${panel.top}V${panel.bottom}` }));
  };
  svg.addEventListener("pointermove", (event) => {
    const [px, py] = panel.local(event);
    const outside = px < panel.left || px > panel.right || py < panel.top || py > panel.bottom;
    if (panel.y.scale === "names" && hints) {
      const row = Math.round(-(panel.y.max - ((py - panel.top) / (panel.bottom - panel.top)) * (panel.y.max - panel.y.min)));
      if (outside || !hints[row]) return hideTip();
      return showTip(event, hints[row], []);
    }
    const marks = panel.marks.filter((m) => m.kind !== "move" && !m.g.classList.contains("off"));
    if (outside || marks.length === 0) {
      hideTip();
      return panel.window?.point(null);
    }
    const value = panel.value(px);
    panel.window?.point(value);
    const rows = [];
    for (const mark of marks) {
      const found = valueAt(panel, mark, value);
      if (found == null || rows.some((r) => r.key === mark.key)) continue;
      const legend = figure.querySelector(`.legend [data-k="${mark.key}"]`);
      rows.push({
        key: mark.key,
        name: legend?.textContent ?? "",
        sample: legend?.querySelector("svg")?.cloneNode(true),
        value: panel.y.text(found),
      });
    }
    showTip(event, panel.x.text(value), rows);
  });
  svg.addEventListener("pointerleave", () => {
    hideTip();
    panel.window?.point(null);
  });
};
