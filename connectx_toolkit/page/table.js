// What goes on at the board: the game, who plays it, what the host is asked and says. Nothing of it is drawn here.

import { Game } from "./game.js";
import { LOSSES } from "./movelist.js";
import { isFull, keyOf, landing, moverOf, stonesOf } from "./rules.js";
import { isExact, judged, resultOf, shareOf, valueOfMoves, wordsOf } from "./values.js";

const VERSION = 1; // of what is kept over a reload

// Board, which shows it, adds changed(what), after every change; refresh(), when more is proven; say(text); and tick(),
// when a clock starts.
export class Table {
  // See Board.
  constructor(host, options) {
    this.host = host;
    this.options = options;
    this.game = Game.of({rows: 6, columns: 7, inarow: 4});
    this.seats = [null, null]; // names of agents; null is a person
    this.config = {}; // actTimeout and overage time, as the host says in its welcome
    this.agents = [];
    this.values = new Map();
    this.view = {overlay: "on", flipped: false, first: 0, pace: 0.5};
    this.online = false;
    this.number = 0; // of the last question
    this.played = 0; // of the game, for the agents' processes
    this.asking = null; // {id, seat, since, state}
    this.paused = false;
    this.hinted = null; // the key of the position that a hint was asked for
    this.setUp = null; // {position, stone}
    this.quiz = null; // {answer: the column that was given, or null} while the position shown is a puzzle
    this.puzzles = []; // positions that the host has for practice
    this.puzzle = -1; // the number of the last one that was asked
    this.wished = "";
    this.loading = null; // the window in which a game to load is typed
    this.hasGames = false; // whether the host has a file of games to ask what was played
    this.playedIn = new Map(); // what was played in a position, by its key
    this.explored = ""; // the key of the position that was asked about last: of several that wait, the host answers one
  }

  // ---- what the player does

  // A person drops a stone where the game is looked at; what came after is gone, unless it goes on alike.
  move(column) {
    const {game} = this;
    const {shown} = game;
    if (!this.mayPress(column)) {
      this.say(this.whyNot(column));
      return;
    }
    if (!game.atEnd && this.seats.every(agent => agent === null) && game.moves[game.cursor] === column) {
      this.go(game.cursor + 1);
      return;
    }
    this.stopAsking();
    game.cut(game.cursor);
    game.push(column, {});
    game.cursor += 1;
    this.paused = this.paused && this.seats.every(Boolean);
    this.changed({falls: true, said: `${this.side(moverOf(shown))} plays column ${column + this.view.first}.`});
  }

  // Why a column cannot be played now.
  whyNot(column) {
    const {game} = this;
    if (this.options.replayer) return "";
    if (this.isOverAt(game.cursor)) return "The game is over.";
    if (this.seats[moverOf(game.shown) - 1] !== null) return `It is ${this.who(moverOf(game.shown))}'s turn.`;
    return `Column ${column + this.view.first} is full.`;
  }

  mayPress(column) {
    const {game} = this, {shown} = game;
    if (this.quiz) return this.quiz.answer === null && landing(shown, column) >= 0;
    if (this.options.replayer || landing(shown, column) < 0 || this.isOverAt(game.cursor)) return false;
    return this.seats[moverOf(shown) - 1] === null;
  }

  isOverAt(ply) { return ply === this.game.moves.length && this.game.isOver; }

  go(ply) {
    const {game} = this, target = Math.max(0, Math.min(game.moves.length, ply));
    if (target === game.cursor || this.setUp) return;
    const falls = target === game.cursor + 1;
    this.quiz = null;
    game.cursor = target;
    this.changed({falls});
  }

  // To the position in which the next mistake is made; in one's own games, the next of one's own.
  goToMistake(way) {
    const isAsked = Boolean(this.quiz);
    this.quiz = null; // while it is open, no mistake is known
    const plies = this.movesMade().filter(move => this.isMistake(move)).map(move => move.ply - 1);
    const next = way > 0 ? plies.find(ply => ply > this.game.cursor) ?? plies[0]
      : plies.findLast(ply => ply < this.game.cursor) ?? plies.at(-1);
    if (isAsked && (next ?? this.game.cursor) === this.game.cursor) this.changed();
    else if (next !== undefined) this.go(next);
    else this.say(this.shows ? "No mistakes found so far." : "Turn the scores on to find mistakes.");
  }

  isMistake({lost, player}) { return lost > 0 && (this.options.mine ?? player) === player; }

  // Asks for the best column at a ply, without the scores.
  practise(ply) {
    this.game.cursor = ply;
    this.quiz = {answer: null};
    this.changed();
  }

  // Asks for the best column in the next position that the host has for practice.
  practiseNext() {
    if (!this.puzzles.length) return;
    this.puzzle = (this.puzzle + 1) % this.puzzles.length;
    const {cells, ...size} = this.puzzles[this.puzzle];
    this.begin(Game.of({...size, start: cells}), [null, null], {answer: null});
  }

  answer(column) {
    if (!this.mayPress(column)) return;
    this.quiz.answer = column;
    this.changed();
  }

  // Back to the last turn of a person, or by one ply where none sits here.
  undo() {
    const {game} = this;
    if (game.cursor === 0 || this.setUp) return;
    this.stopAsking();
    let ply = game.cursor - 1;
    while (ply > 0 && this.seats[moverOf(game.positions[ply]) - 1] !== null && this.seats.includes(null)) ply -= 1;
    if (game.forfeit) game.forfeit = null;
    this.paused = this.seats.every(Boolean);
    game.cursor = ply;
    this.changed();
  }

  redo() {
    const {game} = this;
    if (game.atEnd || this.setUp) return;
    let ply = game.cursor + 1;
    while (ply < game.moves.length && this.seats[moverOf(game.positions[ply]) - 1] !== null && this.seats.includes(null)) {
      ply += 1;
    }
    this.go(ply);
  }

  // Another game on the board; seats: who plays it, if not those who play now; quiz: if its position is a puzzle.
  begin(game, seats = null, quiz = null) {
    this.stopAsking();
    this.loading?.close();
    this.seats = seats ?? this.seats;
    this.game = game;
    this.played += 1;
    this.paused = false;
    this.setUp = null;
    this.quiz = quiz;
    this.changed();
  }

  // A game from elsewhere: one that is over is shown from its start, another where it stands.
  loaded(entry) {
    const game = Game.of(entry);
    game.cursor = game.isOver ? 0 : game.moves.length;
    return game;
  }

  // text: the columns of a game, the content of a replay file, or a link to a position.
  load(text, name) {
    const link = /^[^\s{]*#(\S+)$/.exec(text.trim()); // nothing of a replay, which begins with "{"
    if (link) {
      this.followLink(link[1]);
      return;
    }
    if (!this.online) this.say("Without a connection, only links can be loaded.");
    const {rows, columns, inarow} = this.game.start;
    this.host.send({type: "read", text, name, first: this.view.first, rows, columns, inarow});
  }

  sit(seat, name) {
    this.stopAsking();
    this.seats = this.seats.map((agent, each) => each === seat ? name : agent);
    this.game.names = null;
    if (this.game.forfeit && this.game.forfeit.seat === seat) this.game.forfeit = null;
    this.paused = false;
    this.changed();
  }

  hint() {
    if (this.setUp || this.isOverAt(this.game.cursor)) return;
    if (this.seats[moverOf(this.game.shown) - 1] !== null) {
      this.say(`Hints are for your turn. It is ${this.who(moverOf(this.game.shown))}'s.`);
      return;
    }
    this.hinted = keyOf(this.game.shown);
    this.changed({keepsHint: true});
  }

  // Stops the agents, or lets them go on: from the ply that is looked at.
  pause() {
    const {game} = this;
    if (!this.paused && game.atEnd) {
      this.stopAsking();
      this.paused = true;
    } else {
      if (!game.atEnd) game.cut(game.cursor);
      this.paused = false;
    }
    this.changed();
  }

  // ---- agents

  think() {
    const {game} = this;
    const seat = moverOf(game.last) - 1, agent = this.seats[seat];
    if (this.asking || !this.online || this.paused || this.setUp || agent === null || game.isOver || !game.atEnd) return;
    const id = ++this.number;
    const rest = this.seats.every(Boolean) && game.moves.length ? 1000 * this.view.pace : 0;
    this.asking = {id, seat, agent, since: null, state: "waiting"};
    setTimeout(() => this.ask(id), rest);
  }

  ask(id) {
    if (this.asking?.id !== id) return;
    const {seat, agent} = this.asking;
    Object.assign(this.asking, {since: performance.now(), state: "asked"});
    this.host.send({type: "ask", id, game: this.played, seat, agent, position: this.game.last, overage: this.overageOf(seat),
      config: this.config});
    this.tick();
  }

  stopAsking() {
    if (this.asking && this.asking.state !== "waiting") this.host.send({type: "drop"});
    this.asking = null;
  }

  // The overage time that a seat has left.
  overageOf(seat, ply = this.game.moves.length) {
    for (let each = ply - 1; each >= 0; each--) {
      if (moverOf(this.game.positions[each]) - 1 === seat && this.game.notes[each].overage !== undefined) {
        return this.game.notes[each].overage;
      }
    }
    return this.config.overage;
  }

  // ---- messages

  receive(message) {
    const {type} = message;
    if (type === "welcome") this.welcome(message);
    else if (type === "values") this.learn(message);
    else if (type === "played") this.hear(message);
    else if (type === "loading" || type === "thinking") this.follow(message);
    else if (type === "move") this.answered(message);
    else if (type === "fault") this.failed(message);
    else if (type === "checked") this.sit(message.seat, message.agent);
    else if (type === "game") this.begin(this.loaded(message.game), [null, null]);
    else if (type === "problem") this.trouble(message);
  }

  connected(online) {
    this.online = online;
    if (online) this.host.send({type: "hello"});
    else {
      this.asking = null;
      this.wished = "";
      this.changed();
    }
  }

  welcome({agents = [], config = null, seats = null, game = null, games = false, puzzles = []}) {
    this.agents = agents;
    this.puzzles = puzzles;
    this.hasGames = games;
    this.playedIn.clear();
    this.explored = "";
    const isFirst = !this.welcomed, link = isFirst ? this.link : "";
    if (isFirst && !this.restore()) {
      if (config) {
        const {actTimeout, overage, ...size} = config;
        this.config = {actTimeout, overage};
        this.game = Game.of(size);
      }
      if (seats) this.seats = seats;
      if (game) this.game = this.loaded(game);
    }
    this.played += 1 + Math.floor(1e9 * Math.random()); // the agents of this connection have begun no game yet
    this.welcomed = true;
    this.say("");
    if (isFirst && puzzles.length && !link) this.practiseNext();
    else this.changed();
    if (link) this.followLink(link);
  }

  learn({position, values, done, why}) {
    const key = keyOf(position);
    this.values.set(key, {values, done, why});
    this.refresh();
  }

  hear({position, moves}) {
    this.playedIn.set(keyOf(position), moves);
    this.refresh();
  }

  follow({id, type}) {
    if (this.asking?.id !== id) return;
    if (type === "loading") this.asking.state = "loading";
    else Object.assign(this.asking, {state: "thinking"});
  }

  answered({id, column, seconds, overage, load, thoughts}) {
    if (this.asking?.id !== id) return;
    const {game} = this, follows = game.atEnd, mover = moverOf(game.last);
    this.asking = null;
    game.push(column, {seconds, overage, load, thoughts});
    if (follows) game.cursor += 1;
    this.changed({falls: follows, said: `${this.side(mover)} plays column ${column + this.view.first}.`});
  }

  failed({id, kind, detail, seconds}) {
    if (this.asking?.id !== id) return;
    const {seat} = this.asking;
    this.asking = null;
    this.game.forfeit = {seat, text: `${kind}${detail && detail !== kind ? `: ${detail}` : ""}`, seconds};
    this.changed();
  }

  trouble({text, about, id}) {
    if (about === "ask" && this.asking?.id === id) {
      this.failed({id, kind: "cannot play", detail: text});
      return;
    }
    this.say(text);
  }

  // ---- exact scores

  get shows() {
    if (this.quiz) return this.quiz.answer !== null;
    return this.view.overlay === "on" || (this.view.overlay === "after" && this.game.isOver);
  }

  lookUp = position => this.values.get(keyOf(position))?.values ?? null;

  // Asks the host for what is to be shown and is not proven yet: the position on the board first.
  wish() {
    const {game} = this;
    const wanted = [];
    if (!this.setUp && !document.hidden) {
      const positions = this.shows || this.quiz ? [game.shown, ...game.positions.toReversed()] : [];
      if (this.hinted) positions.push(game.shown);
      const seen = new Set();
      for (const position of positions) {
        const key = keyOf(position), over = position === game.last && game.isOver && !game.forfeit;
        if (seen.has(key) || over || isFull(position) || this.values.get(key)?.done) continue;
        seen.add(key);
        wanted.push(position);
      }
    }
    const wished = wanted.map(keyOf).join();
    if (wished === this.wished || !this.online) return;
    this.wished = wished;
    this.wishedAt = performance.now();
    this.host.send({type: "solve", positions: wanted});
  }

  // Asks the host what was played in the position that is shown.
  askPlayed() {
    const {game} = this, key = keyOf(game.shown);
    if (!this.hasGames || !this.online || this.setUp || this.isOverAt(game.cursor) || this.playedIn.has(key) || this.explored === key) return;
    this.explored = key;
    this.host.send({type: "explore", position: game.shown});
  }

  // The first player's share at a ply, null where it is not proven.
  share(ply) {
    const {game} = this;
    if (ply === game.moves.length && game.hasLine) return game.winner === 1 ? 1 : 0;
    if (isFull(game.positions[ply])) return 0.5;
    const value = valueOfMoves(this.lookUp(game.positions[ply]));
    return value === null || !isExact(value) ? null : shareOf(value[0], game.positions[ply]);
  }

  movesMade() {
    const {game} = this, {first} = this.view;
    return game.moves.map((column, index) => {
      const position = game.positions[index], player = moverOf(position), note = game.notes[index];
      const verdict = this.shows ? judged(position, column, this.lookUp) : null;
      const lost = verdict?.lost ?? 0;
      const sooner = verdict?.sooner ?? false, what = lost ? LOSSES[lost] : sooner ? "the lost game got shorter" : "";
      const label = `move ${stonesOf(position) + 1}, ${this.side(player)}: column ${column + first}`
        + (what ? ` (${what}; best: ${verdict.best.map(each => each + first).join(", ")})` : "");
      return {ply: index + 1, column, text: String(column + first), label, lost, sooner, verdict, seconds: note.seconds, player};
    });
  }

  // ---- in words

  side(player) {
    const yellow = (player === 1) !== this.view.flipped;
    return yellow ? "Yellow" : "Red";
  }

  nameOf(seat) {
    return this.game.names?.[seat] ?? this.seats[seat] ?? this.side(seat + 1);
  }

  // "Yellow wins in 9 plies", of the position at a ply.
  valueWords(ply) {
    const {game} = this, position = game.positions[ply];
    if (this.isOverAt(ply) && !game.forfeit) return this.endWords();
    const value = valueOfMoves(this.lookUp(position));
    if (value === null || resultOf(value) === null) return "";
    const words = wordsOf(value, position), mover = moverOf(position);
    if (resultOf(value) === 0) return "Draw with perfect play";
    const winner = resultOf(value) > 0 ? mover : 3 - mover;
    return `${this.side(winner)} ${words.replace("loses", "wins")}`;
  }

  endWords() {
    const {game} = this, {winner} = game;
    if (game.forfeit && !game.hasLine) {
      const who = this.nameOf(game.forfeit.seat);
      const fault = `${who} forfeits (${game.forfeit.text})`;
      return winner ? `${this.winnerWords(winner)}: ${fault}` : fault;
    }
    return winner === 0 ? "Draw: the board is full" : this.winnerWords(winner);
  }

  winnerWords(winner) {
    const name = this.nameOf(winner - 1), side = this.side(winner);
    return name === side ? `${side} wins` : `${side} wins (${name})`;
  }

  // "Red", or "Red (my_agent.py)".
  who(player) {
    const name = this.nameOf(player - 1), side = this.side(player);
    return name === side ? side : `${side} (${name})`;
  }

  // ---- what outlasts a reload

  keep() {
    const {storage} = this.options;
    if (!storage || !this.welcomed) return;
    const {game, seats, config, view, paused} = this, {cursor, notes} = game;
    storage.setItem("board",
      JSON.stringify({version: VERSION, game: game.toEntry(), cursor, notes, seats, config, view, paused}));
  }

  // Whether there was something to restore: what another version has kept is nothing.
  restore() {
    try {
      const kept = JSON.parse(this.options.storage?.getItem("board") ?? "null");
      if (kept?.version !== VERSION) return false;
      const {game, cursor, notes, seats, config, view, paused} = kept, restored = Game.of(game);
      if (!restored.positions[cursor]?.cells || notes.length !== restored.moves.length || seats.length !== 2) return false;
      Object.assign(restored, {cursor, notes});
      Object.assign(this, {game: restored, seats, config, paused});
      Object.assign(this.view, view);
      return true;
    } catch {
      return false;
    }
  }

  // The part of the address that names a game.
  get link() { return this.options.address ? location.hash.slice(1) : ""; }

  // Begins the game of an address, if it is another than that on the board.
  followLink(text) {
    if (text === this.game.toHash()) {
      this.loading?.close();
      return;
    }
    try {
      this.begin(Game.fromHash(text));
    } catch (problem) {
      this.say(`Cannot open the link: ${problem.message}.`);
    }
  }

  // Puts the game into the address.
  putLink() {
    if (this.options.address && this.welcomed) history.replaceState(null, "", `#${this.game.toHash()}`);
  }
}
