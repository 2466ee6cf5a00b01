// A change: checked, confirmed, applied. What is confirmed is what was checked, character by character.
class ChangeForm {
  constructor(token) {
    this.token = token;
    this.checked = null;
    // Counts what makes the answer to an earlier check stale.
    this.state = 0;
    const on = (id, event, act) => document.getElementById(id).addEventListener(event, act);
    on("check", "submit", (event) => {
      event.preventDefault();
      this.check({ scenario: document.getElementById("scenario").value });
    });
    on("set-rate", "submit", (event) => {
      event.preventDefault();
      this.check({ rate: document.getElementById("rate").value });
    });
    for (const id of ["scenario", "rate", "device"]) on(id, "input", () => this.forget());
    on("device", "input", () => this.deviceChosen());
    on("apply", "click", () => this.ask());
    on("cancel", "click", () => document.getElementById("confirm").close());
    on("confirmed", "click", () => this.apply());
    this.deviceChosen();
  }
  // The links of the kernel; a link in a process of its own keeps the scenario that it was started with.
  links(parts) {
    const names = parts.filter((p) => p.kind === "link" && p.process == null).map((p) => p.of.split(",")[0]);
    const select = document.getElementById("device");
    const shown = [...select.options].slice(1).map((option) => option.value);
    if (JSON.stringify(names) === JSON.stringify(shown)) return;
    const chosen = select.value;
    select.replaceChildren(select.options[0], ...names.map((name) => make("option", { value: name }, name)));
    select.value = names.includes(chosen) ? chosen : "";
    if (select.value !== chosen) this.forget();
    this.deviceChosen();
  }
  device() {
    return document.getElementById("device").value;
  }
  deviceChosen() {
    document.getElementById("set-rate").hidden = !this.device();
  }
  forget() {
    this.state += 1;
    this.checked = null;
    document.getElementById("apply").hidden = true;
    document.getElementById("confirm").close();
    if (document.getElementById("verdict").textContent === "Checking.") this.say("Edited; check it again.", "");
  }
  say(text, kind, answer = "") {
    const verdict = document.getElementById("verdict");
    verdict.className = kind;
    verdict.textContent = text;
    document.getElementById("answer").textContent = answer;
  }
  async post(path, body) {
    const headers = this.token ? { "Laxity-Token": this.token } : {};
    const answer = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    return { ok: answer.ok, status: answer.status, text: await answer.text() };
  }
  async check(change) {
    this.forget();
    const state = this.state;
    if (this.device()) change = { device: this.device(), ...change };
    this.say("Checking.", "");
    try {
      const answer = await this.post("/check", change);
      if (state !== this.state) return;
      if (!answer.ok) {
        this.say(answer.status === 422 ? "Not a change that can be tried." : "Refused.", "no", answer.text);
        return;
      }
      const { admitted, text, digest } = JSON.parse(answer.text);
      this.say(admitted ? "Admitted." : "Not admitted.", admitted ? "yes" : "no", text);
      if (!digest) return;
      this.checked = { digest, change };
      document.getElementById("apply").textContent = `Apply to ${change.device}`;
      document.getElementById("apply").hidden = false;
    } catch {
      if (state === this.state) this.say("The server does not answer.", "no");
    }
  }
  ask() {
    const { digest, change } = this.checked;
    const what = change.rate ? `the rate ${change.rate}` : "the scenario that was checked";
    document.getElementById("question").textContent =
      `Give the link on ${change.device} ${what}? SHA-256 ${digest.slice(0, 16)}.`;
    document.getElementById("confirm").showModal();
  }
  async apply() {
    const confirmation = this.checked;
    this.forget();
    this.say("Applying.", "");
    try {
      const answer = await this.post("/apply", confirmation);
      if (answer.ok) this.say("Applied.", "yes", JSON.parse(answer.text).text);
      else this.say("Not applied.", "no", answer.text);
    } catch {
      this.say("The server does not answer; whether it was applied is not known.", "no");
    }
  }
}
