// Legends whose entries hide what they name, and figures as files.
for (const entry of all(".legend li")) {
  const toggle = make("button", { type: "button", "aria-pressed": "true" });
  toggle.append(...entry.childNodes);
  entry.append(toggle);
  toggle.addEventListener("click", () => {
    const on = toggle.getAttribute("aria-pressed") !== "true";
    toggle.setAttribute("aria-pressed", on);
    const figure = entry.closest("figure");
    for (const g of all(`g[data-k="${entry.dataset.k}"]`, figure)) g.classList.toggle("off", !on);
    for (const svg of all("svg[data-schedule]", figure)) panels.get(svg)?.changed();
  });
}
const isOff = (figure, key) =>
  figure.querySelector(`.legend [data-k="${key}"] [aria-pressed="false"]`) !== null;

// A figure as one picture: its title, its legend and the panels that are shown, in one column.
const picture = (figure) => {
  const kept = all(".panels > svg", figure).filter((svg) => !svg.classList.contains("off"));
  const wide = Math.max(240, ...kept.map((svg) => svg.viewBox.baseVal.width)) + 28;
  const root = shape("svg", { xmlns: "http://www.w3.org/2000/svg", class: "lx" });
  const style = shape("style", {});
  style.textContent = document.querySelector("style").textContent.split("/* page */")[0].replaceAll(":root", "svg");
  const ground = shape("rect", { class: "o", width: "100%", height: "100%" });
  const title = shape("text", { class: "tt", x: 14, y: 27 });
  title.textContent = figure.querySelector("h3").textContent;
  root.append(style, ground, title);
  let y = 44;
  for (const entry of all(".legend li", figure)) {
    const sample = set(entry.querySelector("svg").cloneNode(true), { x: 14, y });
    const text = shape("text", { x: 52, y: y + 10 });
    text.textContent = entry.textContent;
    root.append(sample, text);
    y += 19;
  }
  for (const svg of kept) {
    const { width, height } = svg.viewBox.baseVal;
    const panel = set(svg.cloneNode(true), { x: 14, y: y + 6, width, height });
    for (const part of [panel, ...all("*", panel)]) {
      for (const name of Object.keys(part.dataset)) delete part.dataset[name];
    }
    for (const gone of all(".off, .out, .cross, .chosen", panel)) gone.remove();
    root.append(panel);
    y += height + 22;
  }
  set(root, { viewBox: `0 0 ${wide} ${y}`, width: wide, height: y });
  return new XMLSerializer().serializeToString(root);
};
// Static functions, under names that do not look like an address in a style sheet.
const { createObjectURL: hold, revokeObjectURL: release } = URL;
for (const figure of all("figure")) {
  const save = button("SVG", "Save this figure as SVG", () => {
    const address = hold(new Blob([picture(figure)], { type: "image/svg+xml" }));
    make("a", { href: address, download: figure.dataset.file }).click();
    setTimeout(() => release(address), 10000);
  });
  const tools = make("div", { class: "tools" }, save);
  figure.querySelector("h3").after(tools);
}
