performance.mark("laxity-start");
// Elements, and work put off to the next frame.
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const set = (element, attributes) => {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
};
const make = (name, attributes = {}, ...children) => {
  const element = set(document.createElement(name), attributes);
  element.append(...children);
  return element;
};
const shape = (name, attributes) =>
  set(document.createElementNS("http://www.w3.org/2000/svg", name), attributes);
const button = (text, label, press) => {
  const element = make("button", { type: "button", class: "tool", title: label, "aria-label": label }, text);
  element.addEventListener("click", press);
  return element;
};
const clamp = (value, least, most) => Math.min(most, Math.max(least, value));

const waiting = new Set();
const soon = (work) => {
  if (waiting.size === 0) {
    requestAnimationFrame(() => {
      const now = [...waiting];
      waiting.clear();
      for (const work of now) work();
    });
  }
  waiting.add(work);
};

// Calls `show` when an element is near the screen, and records whether it is there.
const near = new WeakMap();
const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    const state = near.get(target);
    state.here = isIntersecting;
    if (isIntersecting) state.show();
  }
}, { rootMargin: "200px" });
const whenNear = (element, show) => {
  near.set(element, { here: false, show });
  observer.observe(element);
};
const isNear = (element) => near.get(element)?.here ?? false;
