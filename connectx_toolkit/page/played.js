// What was played in the position that is shown, in the games of a file.

import { el, keepingFocus } from "./dom.js";

const NAMED = 2; // players of a move
const percent = share => `${Math.round(100 * share)}%`;

export class PlayedList {
  // press: called with the column of a row that is clicked.
  constructor(press) {
    this.press = press;
    this.element = el("div", {class: "cx-played-here", role: "group", "aria-label": "what was played here"});
  }

  // moves: as the host tells them, null where nothing is to be shown; first: what the first column is called.
  update({moves, first, columns, symmetric}) {
    this.element.hidden = moves === null;
    if (moves === null) return;
    const rows = moves.map(move => this.row(move, first, symmetric ? columns - 1 - move.column : move.column));
    const heads = ["column", "games", "points", "by"].map(head => el("th", {}, head));
    keepingFocus(this.element, () => this.element.replaceChildren(
      rows.length ? el("table", {}, el("tr", {}, ...heads), ...rows) : "No game went on from here."));
  }

  row({column, games, won, drawn, lost, players}, first, mirrored) {
    const ended = won + drawn + lost, points = ended ? percent((won + drawn / 2) / ended) : "";
    const name = mirrored === column ? `${column + first}` : `${column + first} or ${mirrored + first}`;
    const named = players.slice(0, NAMED).map(([player, times]) => `${player} ${times}`).join(", ");
    const title = `won ${won}, drawn ${drawn}, lost ${lost} by who played it`;
    const cells = [name, String(games), points, players.length > NAMED ? `${named}, …` : named];
    const played = el("button", {type: "button", "aria-label": `play column ${name}`}, cells.shift());
    return el("tr", {title, onclick: () => this.press(column)}, el("td", {}, played), ...cells.map(text => el("td", {}, text)));
  }
}
