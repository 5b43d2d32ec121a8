// The windows of the board: a new game, a game to load, an agent's file, and the list of keys.

import { el } from "./dom.js";
import { writeColumns } from "./rules.js";

// Shows a window with a form; "done" gets the form's values when it is sent. It goes when it is closed: when the form is
// sent, unless it "stays".
function dialog(root, title, content, action, done, stays = false) {
  const close = () => window_.close();
  const form = el("form", {method: "dialog"},
    el("h2", {}, title), ...content,
    el("div", {class: "cx-actions"},
      el("button", {type: "button", class: "cx-button", onclick: close}, action ? "Cancel" : "Close"),
      action ? el("button", {type: "submit", class: "cx-button cx-main"}, action) : null));
  const window_ = el("dialog", {class: "cx-dialog", "aria-label": title}, form);
  form.addEventListener("submit", event => {
    if (stays) event.preventDefault();
    done?.(Object.fromEntries(new FormData(form)));
  });
  window_.addEventListener("close", () => window_.remove());
  window_.addEventListener("keydown", event => event.stopPropagation()); // the board's keys are not meant
  window_.addEventListener("click", event => event.target === window_ && close());
  root.append(window_);
  window_.showModal();
  return window_;
}

const field = (label, name, value, more = {}) => el("label", {class: "cx-label"}, el("span", {}, label),
  el("input", {name, value: String(value), required: true, ...more}));

const whole = (label, name, value) => field(label, name, value, {type: "number", min: "1", max: "64", step: "1"});

export function askNewGame(root, size, clock, timed, done) {
  const seconds = {type: "number", min: "0", step: "any"};
  dialog(root, "New game", [
    el("div", {class: "cx-trio"}, whole("rows", "rows", size.rows), whole("columns", "columns", size.columns),
      whole("in a row", "inarow", size.inarow)),
    timed && el("div", {class: "cx-trio"}, field("seconds a move", "actTimeout", clock.actTimeout, seconds),
      field("overage seconds", "overage", clock.overage, seconds)),
  ].filter(Boolean), "Start",
  values => done(Object.fromEntries(Object.entries(values).map(([name, text]) => [name, Number(text)]))));
}

// first: what the first column is called; load: called with the text of a game; loadFile: with its file. The window stays until it is closed: a text
// that is wrong is there to be mended, beside what is said of it.
export function askGame(root, columns, first, load, loadFile) {
  const file = el("input", {type: "file", accept: ".json,application/json,.txt", "aria-label": "replay file"});
  const made = dialog(root, "Load a game", [
    el("label", {class: "cx-label"}, el("span", {}, `the moves, as columns counted from ${first}; or a link to a position`),
      el("textarea", {name: "text", rows: "3", placeholder: writeColumns(columns > 10 ? [3, 10, 3, 11] : [3, 6, 2, 1, 3, 3, 2], first),
        spellcheck: "false"})),
    el("label", {class: "cx-label"}, el("span", {}, "or a replay file from Kaggle or ", el("code", {}, "env.toJSON()"),
      " (you can also drop it on the board)"), file),
    el("p", {class: "cx-notice", role: "alert"}),
  ], "Load", ({text}) => text.trim() && load(text), true);
  file.addEventListener("change", () => file.files.length && loadFile(file.files[0]));
  return made;
}

export function askAgent(root, done) {
  dialog(root, "Choose an agent", [
    el("label", {class: "cx-label"},
      el("span", {}, "the path of a .py or .tar.gz file on this machine, or a name: ", el("code", {}, "minimax@6"),
        " searches 6 plies, ", el("code", {}, "perfect~10"), " plays 10% of its moves at random"),
      el("input", {name: "agent", required: true, placeholder: "my_agent.py", spellcheck: "false", autocapitalize: "off"})),
  ], "Play", ({agent}) => done(agent.trim()));
}

// keys: [[keys, what they do]]; first: what the first column is called.
export function showKeys(root, keys, first) {
  dialog(root, "Keys", [
    el("dl", {class: "cx-keys"}, ...keys.flatMap(([key, words]) =>
      [el("dt", {}, ...key.split(" ").map(each => el("kbd", {}, each))), el("dd", {}, words)])),
    el("p", {class: "cx-note"}, first ? `Columns are counted from ${first} here, also in moves that you load or copy. `
      + "Kaggle counts from 0." : "Columns are counted from 0, as Kaggle does."),
  ], null, null);
}
