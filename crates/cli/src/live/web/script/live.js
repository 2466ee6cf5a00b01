// Events, the filter and the pause.
const tables = [...document.querySelectorAll(".parts")].map((place) => new PartTable(place));
const byId = (id) => document.getElementById(id);
// The secret is in the address that was printed; it does not stay there.
const token = location.hash.slice(1);
if (token) history.replaceState(null, "", location.pathname);
const changes = new ChangeForm(token);
let paused = false;
const filter = () => {
  const words = byId("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const table of tables) table.filter(words);
};
const say = (text, bad) => {
  byId("state").textContent = text;
  byId("state").classList.toggle("bad", Boolean(bad));
};
const events = new EventSource("/events");
events.addEventListener("message", ({ data }) => {
  if (paused) return;
  const { parts, notes } = JSON.parse(data);
  for (const table of tables) table.update(parts);
  changes.links(parts);
  byId("notes").replaceChildren(...notes.map((note) => make("li", {}, note.replaceAll("`", ""))));
  const text = parts.length === 1 ? "1 part, live." : `${parts.length} parts, live.`;
  if (byId("state").textContent !== text) say(text);
  performance.mark("laxity-shown");
});
events.addEventListener("problem", ({ data }) => say(data, true));
events.addEventListener("error", () => say("The connection is lost; trying again.", true));
byId("filter").addEventListener("input", filter);
byId("pause").addEventListener("click", () => {
  paused = !paused;
  byId("pause").setAttribute("aria-pressed", String(paused));
  say(paused ? "Paused." : "Live.");
});
fetch("/scenario").then((answer) => answer.text()).then((text) => {
  if (!byId("scenario").value) byId("scenario").value = text;
});
