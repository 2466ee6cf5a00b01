// Boxes that choose the policies, and the flows, tasks or classes, that the page shows.
const chooser = document.getElementById("filters");
const hidden = new Set();
const applyFilter = () => {
  for (const element of all("main [data-of]")) element.classList.toggle("off", hidden.has(element.dataset.of));
  for (const table of all("main table")) {
    for (const [i, head] of [...table.tHead.rows[0].cells].entries()) {
      if (!head.dataset.of) continue;
      const off = hidden.has(head.dataset.of);
      for (const body of table.tBodies) {
        for (const row of body.rows) {
          if (!row.classList.contains("group")) row.cells[i]?.classList.toggle("off", off);
        }
      }
    }
  }
  // Lines of a legend's hidden entries.
  for (const entry of all(".legend li[data-of]")) {
    const off = hidden.has(entry.dataset.of) || entry.querySelector('[aria-pressed="false"]');
    for (const g of all(`g[data-k="${entry.dataset.k}"]`, entry.closest("figure"))) g.classList.toggle("off", Boolean(off));
  }
};
if (chooser) {
  const families = JSON.parse(chooser.dataset.names);
  for (const [number, label, names] of families) {
    const summary = make("summary", {});
    const tell = () => {
      const shown = names.filter((_, i) => !hidden.has(`${number}.${i}`)).length;
      summary.textContent = `${label}: ${shown === names.length ? "all" : shown} ${shown === names.length ? "" : `of `}${names.length}`;
    };
    const boxes = names.map((name, i) => {
      const box = make("input", { type: "checkbox", value: `${number}.${i}` });
      box.checked = true;
      box.addEventListener("change", () => {
        hidden[box.checked ? "delete" : "add"](box.value);
        tell();
        applyFilter();
      });
      return make("label", {}, box, ` ${name}`);
    });
    tell();
    chooser.append(make("details", {}, summary, make("div", { class: "boxes" }, ...boxes)));
  }
}
