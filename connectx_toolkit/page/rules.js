// The rules: positions, what can be played, lines, threats. No page, no host.
//
// A position is {rows, columns, inarow, cells}; cells is a string of "0", "1", "2" in Kaggle's order, row by row from
// the top. Player 1 moves first. Columns are counted from 0.

const DIRECTIONS = [[0, 1], [1, 0], [1, 1], [1, -1]];

export const emptyPosition = ({rows, columns, inarow}) =>
  ({rows, columns, inarow, cells: "0".repeat(rows * columns)});

export const keyOf = ({rows, columns, inarow, cells}) => `${rows}x${columns}x${inarow}:${cells}`;

export const stonesOf = position => position.cells.length - position.cells.split("0").length + 1;

export const moverOf = position => 1 + stonesOf(position) % 2;

// Columns as a text; first: what the first column is called.
export function writeColumns(columns, first) {
  const names = columns.map(column => column + first);
  return names.join(names.some(name => name > 9) ? "," : "");
}

// The cell that a stone in the column comes to lie in, -1 if the column is full.
export function landing({rows, columns, cells}, column) {
  for (let row = rows - 1; row >= 0; row--) {
    if (cells[row * columns + column] === "0") return row * columns + column;
  }
  return -1;
}

export const withCell = (position, cell, stone) =>
  ({...position, cells: position.cells.slice(0, cell) + stone + position.cells.slice(cell + 1)});

export const play = (position, column) => withCell(position, landing(position, column), moverOf(position));

export const openColumns = position =>
  Array.from({length: position.columns}, (_, column) => column).filter(column => landing(position, column) >= 0);

// The cells of the longest line through a cell if it were the stone's, in each direction.
function linesThrough({rows, columns, cells}, cell, stone) {
  const row = Math.floor(cell / columns), column = cell % columns;
  return DIRECTIONS.map(([down, right]) => {
    const line = [cell];
    for (const way of [-1, 1]) {
      let y = row + way * down, x = column + way * right;
      while (y >= 0 && y < rows && x >= 0 && x < columns && cells[y * columns + x] === stone) {
        line.push(y * columns + x);
        y += way * down;
        x += way * right;
      }
    }
    return line;
  });
}

// The cells of all lines that are made, [] if there are none.
export function winningCells(position) {
  const found = new Set();
  for (const [cell, stone] of [...position.cells].entries()) {
    if (stone === "0") continue;
    for (const line of linesThrough(position, cell, stone)) {
      if (line.length >= position.inarow) line.forEach(each => found.add(each));
    }
  }
  return [...found].sort((a, b) => a - b);
}

// Whether the stone in this cell is part of a line.
export const makesLine = (position, cell) =>
  linesThrough(position, cell, position.cells[cell]).some(line => line.length >= position.inarow);

export const isFull = position => !position.cells.includes("0");

// The empty cells that would complete a line: {1: [...], 2: [...]}.
export function threatsIn(position) {
  const threats = {1: [], 2: []};
  for (const [cell, stone] of [...position.cells].entries()) {
    if (stone !== "0") continue;
    for (const player of [1, 2]) {
      const lines = linesThrough(position, cell, String(player));
      if (lines.some(line => line.length >= position.inarow)) threats[player].push(cell);
    }
  }
  return threats;
}

// Whose threats gain by zugzwang in the cell's row: the first player's in odd rows counted from 1 at the bottom, the
// second's in even ones. With an odd number of rows the rule says nothing: null.
export const zugzwangOwner = ({rows, columns}, cell) =>
  rows % 2 ? null : (rows - Math.floor(cell / columns)) % 2 ? 1 : 2;

// Whether a game may go on from stones that were put down one by one, and if not, why.
export function setUpProblem(position) {
  const count = stone => position.cells.split(stone).length - 1;
  const {cells, columns} = position;
  if ([...cells].some((stone, cell) => stone !== "0" && cells[cell + columns] === "0")) return "a stone has none below it";
  const more = count("1") - count("2");
  if (more > 1) return `the first player has ${more - 1} too many`;
  if (more < 0) return `the second player has ${-more} too many`;
  if (winningCells(position).length) return "the game is already over";
  if (isFull(position)) return "the board is full";
  return "";
}
