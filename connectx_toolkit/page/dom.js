// Elements in one line, and drawings.

const SVG = "http://www.w3.org/2000/svg";

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (typeof value === "boolean") element.toggleAttribute(name, value);
    else element.setAttribute(name, value);
  }
  element.append(...children.flat().filter(child => child !== null && child !== undefined && child !== false));
  return element;
}

export const el = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);

export const svg = (tag, attributes, ...children) =>
  filled(document.createElementNS(SVG, tag), attributes, children);

// Changes a text only if it is another: the clock looks ten times a second, and what is the same is not drawn again.
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// Makes a change that replaces buttons: if one of them had the focus, the one in its place gets it.
export function keepingFocus(container, change) {
  const buttons = () => [...container.querySelectorAll("button")];
  const place = buttons().indexOf(document.activeElement);
  change();
  if (place >= 0) buttons()[place]?.focus({preventScroll: true});
}

// Pictures of buttons: strokes on a field of 24 x 24.
const STROKES = {
  first: "M18 6l-6 6 6 6M7 6v12",
  back: "M15 6l-6 6 6 6",
  forward: "M9 6l6 6-6 6",
  last: "M6 6l6 6-6 6M17 6v12",
  undo: "M9 7L4 12l5 5M4 12h10a6 6 0 0 1 6 6",
  redo: "M15 7l5 5-5 5M20 12H10a6 6 0 0 0-6 6",
  fresh: "M12 5v14M5 12h14",
  hint: "M9 18h6M10 21h4M12 3a6 6 0 0 0-4 10.5c.8.8 1 1.5 1 2.5h6c0-1 .2-1.7 1-2.5A6 6 0 0 0 12 3z",
  edit: "M4 20h4L19 9l-4-4L4 16v4M13 7l4 4",
  open: "M12 4v11M7 10l5 5 5-5M5 20h14",
  flip: "M7 4v16M7 4L4 7M7 4l3 3M17 20V4M17 20l-3-3M17 20l3-3",
  help: "M9 9a3 3 0 1 1 4.5 2.6c-1 .6-1.5 1.2-1.5 2.4M12 18v.01",
  play: "M8 5l11 7-11 7z",
  pause: "M8 5v14M16 5v14",
  next: "M12 4l9 16H3zM12 10v4M12 17v.01",
  link: "M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.6-5.6l-1.2 1.2M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.6 5.6l1.2-1.2",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
};

export const icon = name => svg("svg", {class: "cx-icon", viewBox: "0 0 24 24", "aria-hidden": "true"},
  svg("path", {d: STROKES[name]}));

// A button with a picture, a word where there is room, and its key in the tooltip.
export function button({name, picture, key, press, bare = false, word = name}) {
  const title = key ? `${name} (${key})` : name;
  const made = el("button", {type: "button", class: "cx-button", title, "aria-label": name, onclick: press});
  if (key) made.setAttribute("aria-keyshortcuts", key);
  made.append(icon(picture));
  if (!bare) made.append(el("span", {}, word));
  return made;
}
