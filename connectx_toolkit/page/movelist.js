// The moves of the game, two a line, with what they threw away.

import { el, keepingFocus } from "./dom.js";

const MARKS = ["", "?", "??"], SOONER = "?!";
export const LOSSES = ["", "the result got worse", "a win became a loss"];

export class MoveList {
  // go: called with the ply that was chosen.
  constructor(go) {
    this.go = go;
    this.element = el("ol", {class: "cx-moves", "aria-label": "moves"});
  }

  // moves: [{ply (of the position after it), text, label, lost, sooner, seconds, player}]; start: stones before the first.
  update({moves, cursor, start}) {
    const rows = new Map();
    for (const move of moves) {
      const number = Math.floor((start + move.ply - 1) / 2) + 1;
      if (!rows.has(number)) rows.set(number, [null, null]);
      rows.get(number)[move.player - 1] = this.cell(move, cursor);
    }
    keepingFocus(this.element, () => this.element.replaceChildren(...[...rows].map(([number, cells]) => el("li", {},
      el("span", {class: "cx-number"}, `${number}.`), ...cells.map(cell => cell ?? el("span", {class: "cx-none"}, "…"))))));
    this.element.hidden = !moves.length;
    this.reveal();
  }

  cell({ply, text, label, lost, sooner, seconds, player}, cursor) {
    const made = el("button", {
      type: "button", class: `cx-move cx-lost${lost}`, "data-ply": String(ply), "aria-label": label, title: label,
      onclick: () => this.go(ply),
    }, el("i", {class: `cx-dot cx-p${player}`}), text,
    lost ? el("b", {}, MARKS[lost]) : sooner ? el("i", {class: "cx-sooner"}, SOONER) : null,
    seconds === undefined ? null : el("small", {}, `${seconds.toFixed(seconds < 9.95 ? 1 : 0)} s`));
    if (ply === cursor) made.setAttribute("aria-current", "step");
    return made;
  }

  // Scrolls the list, and nothing else, to the move that is looked at.
  reveal() {
    const current = this.element.querySelector("[aria-current]");
    if (!current) {
      this.element.scrollTop = 0;
      return;
    }
    const top = current.offsetTop - this.element.offsetTop, room = this.element.clientHeight - current.offsetHeight;
    const {scrollTop} = this.element;
    if (top < scrollTop || top > scrollTop + room) this.element.scrollTop = Math.max(0, top - room / 2);
  }
}
