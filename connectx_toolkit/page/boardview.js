// The board itself: holes and stones, what is marked on them, scores above the columns, and a button a column.

import { el, svg } from "./dom.js";
import { landing, zugzwangOwner } from "./rules.js";

const CELL = 100, STONE = 41, HOLE = 40;
const MANY = 10; // columns from which scores are figures alone
const MOST_NUMBERS = 20; // columns beyond which not every number has room below its column
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

const centre = (cell, columns) =>
  [CELL * (cell % columns + 0.5), CELL * (Math.floor(cell / columns) + 0.5)];

function stone(player, extra = "") {
  const heart = player === 1 ? svg("circle", {r: 27, class: "cx-ring"}) : svg("circle", {r: 20, class: "cx-core"});
  return svg("g", {class: `cx-stone cx-p${player} ${extra}`}, svg("circle", {r: STONE, class: "cx-disc"}), heart);
}

function place(element, cell, columns) {
  const [x, y] = centre(cell, columns);
  element.setAttribute("transform", `translate(${x} ${y})`);
  return element;
}

// The blue front: all of the board but its holes.
function front(rows, columns) {
  let path = `M0 0H${CELL * columns}V${CELL * rows}H0Z`;
  for (let cell = 0; cell < rows * columns; cell++) {
    const [x, y] = centre(cell, columns);
    path += `M${x - HOLE} ${y}a${HOLE} ${HOLE} 0 1 0 ${2 * HOLE} 0a${HOLE} ${HOLE} 0 1 0 ${-2 * HOLE} 0Z`;
  }
  return svg("path", {class: "cx-front", d: path, "fill-rule": "evenodd"});
}

const rims = (rows, columns) => Array.from({length: rows * columns}, (_, cell) =>
  place(svg("circle", {r: HOLE, class: "cx-rim"}), cell, columns));

export class BoardView {
  // press: called with the column that was clicked.
  constructor(press) {
    this.press = press;
    this.size = "";
    this.over = -1; // the column that the pointer or the focus is on
    this.chips = el("div", {class: "cx-chips", "aria-hidden": "true"});
    this.numbers = el("div", {class: "cx-numbers", "aria-hidden": "true"});
    this.buttons = el("div", {class: "cx-columns", role: "group", "aria-label": "columns"});
    this.drawing = svg("svg", {class: "cx-drawing", "aria-hidden": "true"});
    this.bar = el("div", {class: "cx-bar", role: "img"}, el("i", {class: "cx-fill"}));
    this.field = el("div", {class: "cx-field"}, this.chips, this.drawing, this.numbers, this.buttons);
    this.element = el("div", {class: "cx-boardview"}, this.bar, this.field);
  }

  // what: {position, lastCell, line, moves (whether stones may fall), open (columns that can be pressed), mover,
  //        chips, labels, hints, threats, first, played (the column of the mistake that is made here, or null), best (instead), share, barLabel}
  update(what) {
    this.what = what;
    this.rebuild();
    this.putStones();
    this.putMarks();
    this.putScores();
    this.putBar();
  }

  rebuild() {
    const {rows, columns} = this.what.position;
    const size = `${rows}x${columns}`;
    if (size === this.size) return;
    this.size = size;
    this.cells = "0".repeat(rows * columns);
    this.stones = new Map();
    for (const [name, value] of [["--cx-columns", columns], ["--cx-rows", rows]]) {
      this.element.parentElement.style.setProperty(name, value); // who plays is as wide as the board
    }
    this.element.classList.toggle("cx-many", columns > MANY);
    this.stoneLayer = svg("g");
    this.underLayer = svg("g");
    this.markLayer = svg("g", {class: "cx-marks"});
    this.drawing.setAttribute("viewBox", `0 0 ${CELL * columns} ${CELL * rows}`);
    const back = svg("rect", {class: "cx-back", width: CELL * columns, height: CELL * rows});
    this.drawing.replaceChildren(
      back, this.underLayer, this.stoneLayer, front(rows, columns), ...rims(rows, columns), this.markLayer);
    this.buttons.replaceChildren(...Array.from({length: columns}, (_, column) => this.columnButton(column)));
  }

  columnButton(column) {
    const hover = over => () => {
      this.over = over;
      this.putMarks();
    };
    return el("button", {
      type: "button", class: "cx-column", "data-column": String(column), onclick: event => {
        if (event.detail) this.element.closest(".cx").focus({preventScroll: true}); // a pointer needs no focus ring
        this.press(column);
      },
      onpointerenter: hover(column), onpointerleave: hover(-1), onfocus: hover(column), onblur: hover(-1),
    });
  }

  putStones() {
    const {position, moves} = this.what;
    const {columns, cells} = position;
    const fresh = [...cells].flatMap((stone, cell) => stone !== "0" && stone !== this.cells[cell] ? [cell] : []);
    for (const [cell, made] of this.stones) {
      if (cells[cell] !== this.cells[cell]) {
        made.remove();
        this.stones.delete(cell);
      }
    }
    for (const cell of fresh) {
      const made = place(stone(Number(cells[cell])), cell, columns);
      this.stones.set(cell, made);
      this.stoneLayer.append(made);
      if (moves && fresh.length === 1 && !STILL.matches) this.fall(made, cell, columns);
    }
    this.cells = cells;
  }

  fall(made, cell, columns) {
    const [x, y] = centre(cell, columns);
    const at = height => ({transform: `translate(${x}px, ${height}px)`});
    const drops = Math.floor(cell / columns) + 1;
    made.animate([
      {...at(-CELL / 2), easing: "cubic-bezier(.45, 0, .9, .6)"},
      {...at(y), offset: 0.68, easing: "cubic-bezier(.2, .6, .4, 1)"},
      {...at(y - 5 - 4 * Math.min(drops, 6)), offset: 0.83, easing: "cubic-bezier(.6, 0, .8, .4)"},
      at(y),
    ], {duration: 130 + 150 * Math.sqrt(Math.min(drops, 12))});
  }

  putMarks() {
    const {position, lastCell, line, hints, threats, open, mover, played, best} = this.what;
    const {columns} = position;
    const marks = [];
    if (threats) marks.push(...this.zugzwangRows(position), ...this.threatMarks(position, threats));
    if (lastCell >= 0 && !line.length) marks.push(place(svg("circle", {r: 9, class: "cx-last"}), lastCell, columns));
    if (played !== null) {
      marks.push(this.ringed(played, "cx-wrong"), ...best.map(column => this.ringed(column, "cx-right")));
    }
    for (const cell of line) marks.push(place(svg("circle", {r: STONE - 3, class: "cx-won"}), cell, columns));
    for (const [cell, made] of this.stones) {
      made.classList.toggle("cx-faint", line.length > 0 && !line.includes(cell));
    }
    this.underLayer.replaceChildren(...hints.map(column => this.ghost(column, mover, "cx-hinted")));
    if (open.includes(this.over) && !hints.includes(this.over)) {
      this.underLayer.append(this.ghost(this.over, mover, "cx-ghost"));
    }
    this.markLayer.replaceChildren(...marks);
  }

  // Where a stone would come to lie, marked.
  ringed(column, name) {
    const {position} = this.what;
    return place(svg("circle", {r: STONE - 3, class: name}), landing(position, column), position.columns);
  }

  ghost(column, mover, name) {
    const {position} = this.what;
    return place(stone(mover, name), landing(position, column), position.columns);
  }

  zugzwangRows({rows, columns}) {
    return Array.from({length: rows}, (_, row) => zugzwangOwner({rows, columns}, row * columns)).flatMap((owner, row) =>
      owner === null ? [] : [5, CELL * columns - 5].map(x =>
        svg("circle", {class: `cx-row cx-p${owner}`, cx: x, cy: CELL * (row + 0.5), r: 3.6})));
  }

  threatMarks(position, threats) {
    return [1, 2].flatMap(player => threats[player].map(cell => {
      const shared = threats[3 - player].includes(cell);
      const owner = zugzwangOwner(position, cell);
      const mark = svg("g", {}, svg("circle", {
        class: `cx-threat cx-p${player}`, r: owner === player ? 15 : 11, cx: shared ? (player === 1 ? -17 : 17) : 0,
        "data-strong": String(owner === player),
      }));
      return place(mark, cell, position.columns);
    }));
  }

  putScores() {
    const {position, chips, labels, open, hints, first} = this.what;
    const {played} = this.what, step = chips.length > 40 ? 5 : chips.length > MOST_NUMBERS ? 2 : 1;
    this.chips.replaceChildren(...chips.map((chip, column) => el("div", {class: `cx-chip ${chip.kind}${column === played ? " cx-played" : ""}`},
      chip.word ? el("span", {}, chip.word) : null, chip.figure ? el("b", {}, chip.figure) : null)));
    this.numbers.replaceChildren(...chips.map((_, column) => el("span", {}, (column + first) % step ? "" : String(column + first))));
    for (const [column, made] of [...this.buttons.children].entries()) {
      made.setAttribute("aria-label", labels[column]);
      made.setAttribute("aria-disabled", String(!open.includes(column)));
      made.classList.toggle("cx-hint", hints.includes(column));
      made.classList.toggle("cx-open", open.includes(column));
      made.dataset.stones = String(position.rows - Math.floor((landing(position, column) + position.columns)
        / position.columns));
    }
  }

  putBar() {
    const {share, barLabel} = this.what;
    this.bar.classList.toggle("cx-unknown", share === null);
    this.bar.setAttribute("aria-label", barLabel);
    this.bar.title = barLabel;
    this.bar.style.setProperty("--cx-share", `${100 * (share ?? 0.5)}%`);
  }
}
