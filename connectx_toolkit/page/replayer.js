// The board as a replayer in a page without a server: all that is to be known is in the game.

import { Board } from "./board.js";
import { Game } from "./game.js";
import { keyOf } from "./rules.js";

const NO_HOST = {start() {}, send() {}};

// A replayer in an element; show(game, ply) puts a game on it, as game_entry of connectx_toolkit/report/pages.py makes them.
export class Replayer {
  // moved: called with the ply whenever another one is shown; pageKeys: the page's own, [[keys, what they do]].
  constructor(root, keys, moved, pageKeys = []) {
    this.board = new Board(root, NO_HOST, {replayer: true, keys, pageKeys, moved: game => this.shown && moved(game.cursor)});
  }

  // mine: the player whose mistakes are gone to, 1 or 2; either's if it is left out.
  show({rows, columns, inarow, moves, names, judged, forfeit = null}, ply = 0, mine = undefined) {
    this.board.options.mine = mine;
    this.shown = true;
    const game = Game.of({rows, columns, inarow, moves, names, forfeit});
    this.board.values.clear();
    for (const [index, {scores}] of Object.entries(judged)) {
      const values = scores.map(score => score === null ? null : [score, score]);
      this.board.values.set(keyOf(game.positions[index]), {values, done: true});
    }
    game.cursor = Math.min(ply, moves.length);
    this.board.begin(game);
  }
}
