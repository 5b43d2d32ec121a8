// A game on the board: where it starts, its moves, and the ply that is looked at.

import { emptyPosition, isFull, landing, makesLine, moverOf, play, setUpProblem, stonesOf, winningCells } from "./rules.js";

const MOST_CELLS = 4096; // as connectx_toolkit/kaggle/rules.py has it

export class Game {
  // start: a position that is not over. names: of who played, where that is known.
  constructor(start, moves = [], names = null) {
    this.start = start;
    this.names = names;
    this.positions = [start];
    this.moves = [];
    this.notes = []; // one a move: {seconds, overage, thoughts} as far as they are known
    this.forfeit = null; // {seat, text}: who lost by what, after the last move
    this.cursor = 0;
    for (const column of moves) this.push(column);
  }

  static of({rows, columns, inarow, moves = [], start = null, names = null, forfeit = null}) {
    const size = {rows, columns, inarow};
    const game = new Game(start ? {...size, cells: start} : emptyPosition(size), moves, names);
    game.forfeit = forfeit;
    return game;
  }

  // What "of" takes.
  toEntry() {
    const {rows, columns, inarow, cells} = this.start;
    const {moves, names, forfeit} = this;
    return {rows, columns, inarow, start: cells, moves, names, forfeit};
  }

  // The game and the ply that is looked at, as the part of an address after "#".
  toHash() {
    const {rows, columns, inarow, cells} = this.start;
    const start = cells.includes("1") ? cells : "";
    return [`${rows}x${columns}x${inarow}`, start, this.moves.join(), this.cursor].join("/");
  }

  // What toHash gave; an Error if it is another text.
  static fromHash(text) {
    const parts = /^(\d+)x(\d+)x(\d+)\/([012]*)\/((?:\d+(?:,\d+)*)?)\/(\d+)$/.exec(text);
    if (!parts) throw new Error("it holds no game");
    const [rows, columns, inarow] = parts.slice(1, 4).map(Number);
    const start = parts[4] || "0".repeat(Math.min(rows * columns, MOST_CELLS));
    if (!rows || !columns || !inarow || start.length !== rows * columns) throw new Error("it holds no board");
    if (/[12]/.test(start) && setUpProblem({rows, columns, inarow, cells: start})) throw new Error("no game starts in its position");
    const game = Game.of({rows, columns, inarow, start, moves: parts[5] ? parts[5].split(",").map(Number) : []});
    game.cursor = Math.min(Number(parts[6]), game.moves.length);
    return game;
  }

  get last() { return this.positions[this.moves.length]; }
  get shown() { return this.positions[this.cursor]; }
  get atEnd() { return this.cursor === this.moves.length; }
  get firstPly() { return stonesOf(this.start); }

  // Drops a stone after the last move; an Error if that cannot be.
  push(column, note = {}) {
    if (this.isOver || column >= this.start.columns || landing(this.last, column) < 0) throw new Error(`column ${column} cannot be played`);
    this.positions.push(play(this.last, column));
    this.moves.push(column);
    this.notes.push(note);
  }

  // Forgets what comes after a ply, and what ended the game.
  cut(ply) {
    this.positions.length = ply + 1;
    this.moves.length = this.notes.length = ply;
    this.forfeit = null;
    this.cursor = Math.min(this.cursor, ply);
  }

  // The cell of the move before a ply, -1 before the first.
  cellOf(ply) { return ply ? landing(this.positions[ply - 1], this.moves[ply - 1]) : -1; }

  get hasLine() { return this.moves.length > 0 && makesLine(this.last, this.cellOf(this.moves.length)); }
  get isOver() { return this.forfeit !== null || this.hasLine || isFull(this.last); }

  // 1 or 2, 0 for a draw, null while it goes on.
  get winner() {
    if (this.hasLine) return 3 - moverOf(this.last);
    if (this.forfeit) return this.forfeit.seat === 0 ? 2 : 1;
    return isFull(this.last) ? 0 : null;
  }

  // The cells of the winning line, where it is shown.
  get line() { return this.atEnd && this.hasLine ? winningCells(this.shown) : []; }
}
