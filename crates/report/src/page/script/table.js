// Tables: sorted by any column, and copied as CSV.
const UNITS = {
  s: 1e9, ms: 1e6, "\u00b5s": 1e3, ns: 1, GB: 1e9, MB: 1e6, kB: 1e3, B: 1,
  "Gbit/s": 1e9, "Mbit/s": 1e6, "kbit/s": 1e3, "bit/s": 1,
};
// The text of a cell without what is secondary.
const main = (cell) => {
  const copy = cell.cloneNode(true);
  for (const part of all(".secondary", copy)) part.remove();
  return copy.textContent.replace(/[ \n\t]+/g, " ").trim();
};
// The number that a text begins with, in the base unit; nothing for other texts.
const numberOf = (text) => {
  const plain = text.replace(/[\u202f\u00a0]/g, "").replace("\u2212", "-").replace(/^[\u2717\u2713\u2264\u2265\u00b1\s]+/, "");
  const found = /^([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*([^\s\d/]*(?:bit\/s)?)/.exec(plain);
  return found ? Number(found[1]) * (UNITS[found[2]] ?? 1) : null;
};
const compare = (a, b) => {
  const [x, y] = [numberOf(a), numberOf(b)];
  if (x !== null && y !== null) return x - y;
  if (x !== null || y !== null) return x !== null ? -1 : 1;
  return a.localeCompare(b, "en", { numeric: true });
};
const sortBy = (table, column, order) => {
  for (const body of table.tBodies) {
    const rows = [...body.rows].filter((row) => !row.classList.contains("group"));
    for (const [i, row] of rows.entries()) row.dataset.place ??= i;
    const key = new Map(rows.map((row) => [row, row.cells[column] ? main(row.cells[column]) : ""]));
    rows.sort((a, b) => (order === 0 ? 0 : order * compare(key.get(a), key.get(b))) || a.dataset.place - b.dataset.place);
    body.append(...rows);
  }
};
const csv = (table) => {
  const field = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const rows = [...table.rows].filter((row) => !row.classList.contains("group") && !row.classList.contains("off"));
  const columns = [...table.tHead.rows[0].cells].map((_, i) => i);
  const shown = columns.filter((i) => !table.tHead.rows[0].cells[i].classList.contains("off"));
  const second = new Set(shown.filter((i) => rows.some((row) => row.cells[i]?.querySelector(".secondary"))));
  const line = (row) =>
    shown.flatMap((i) => {
      const cell = row.cells[i];
      const text = cell ? main(cell).replace(/^[\u2717\u2713] /, "").replace(/(\d)\u202f(?=\d)/g, "$1") : "";
      if (!second.has(i)) return [field(text)];
      const more = row === rows[0] ? `${text} (besides)` : cell?.querySelector(".secondary")?.textContent ?? "";
      return [field(text), field(more.replace(/^\/\s*/, "").trim())];
    });
  return rows.map((row) => line(row).join(",")).join("\n") + "\n";
};
const copy = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without leave for the clipboard: the way of selected text.
    const area = make("textarea", { class: "copied" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
};
for (const table of all("main table")) {
  for (const [column, head] of [...table.tHead.rows[0].cells].entries()) {
    const press = make("button", { type: "button", class: "sort" });
    press.append(...head.childNodes);
    head.append(press);
    press.addEventListener("click", () => {
      const order = { undefined: 1, ascending: -1, descending: 0 }[head.ariaSort ?? undefined];
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      if (order) head.setAttribute("aria-sort", order === 1 ? "ascending" : "descending");
      sortBy(table, column, order);
    });
  }
  const tool = button("CSV", "Copy this table as CSV", async () => {
    await copy(csv(table));
    tool.textContent = "Copied";
    setTimeout(() => (tool.textContent = "CSV"), 1500);
  });
  table.closest(".table").prepend(make("div", { class: "tools" }, tool));
}
