// The board: the game, who plays it, and what is known of it, as one component. It talks to its host by the messages of
// docs/board.md, and knows nothing else of it.

import { BoardView } from "./boardview.js";
import { askAgent, askGame, askNewGame, showKeys } from "./dialogs.js";
import { button, el, keepingFocus, setText } from "./dom.js";
import { Game } from "./game.js";
import { Graph } from "./graph.js";
import { LOSSES, MoveList } from "./movelist.js";
import { emptyPosition, isFull, keyOf, landing, moverOf, openColumns, setUpProblem, stonesOf, threatsIn, withCell }
  from "./rules.js";
import { SeatCard } from "./seats.js";
import { bestColumns, isExact, judged, pliesToEnd, resultOf, shareOf, valueOfMoves, wordsOf } from "./values.js";

const OVERLAYS = [["on", "On"], ["after", "After the game"], ["off", "Off"]];
const PACES = [[0, "no pause"], [0.5, "0.5 s"], [1, "1 s"], [2, "2 s"], [4, "4 s"]];
const TICK = 100; // milliseconds between two looks at the clock
const PATIENCE = 300; // milliseconds of solving that nobody is told of
const RESULTS = {1: "win", 0: "draw", [-1]: "loss"};

const KEYS = [
  ["1–9", "drop a stone in that column (Tab and Enter reach them all)"], ["← →", "one ply back, forward"],
  ["Home End", "start, end"], ["U", "undo, to your own last turn"], ["R", "redo"], ["H", "hint"],
  ["M", "the next mistake (Shift: the one before)"], ["O", "scores on, after the game, off"],
  ["Space", "stop or go on; let the agent play from here"], ["N", "new game"], ["S", "set up a position"],
  ["L", "load a game"], ["C", "copy the game's columns"], ["F", "flip colours"], ["?", "this list"],
];

export class Board {
  // host: {start(receive, online), send(message)}.
  // options: {first: what the first column is called, keys: the element whose keys are ours, compact, replayer,
  //           storage: where the game is kept over a reload, if anywhere, moved: called with the moves}.
  constructor(root, host, options = {}) {
    this.root = root;
    this.host = host;
    this.options = options;
    this.game = Game.of({rows: 6, columns: 7, inarow: 4});
    this.seats = [null, null]; // names of agents; null is a person
    this.config = {actTimeout: 2, bank: 60};
    this.agents = [];
    this.values = new Map();
    this.view = {overlay: "on", flipped: false, first: options.first ?? 1, pace: 0.5};
    this.online = false;
    this.number = 0; // of the last question
    this.played = 0; // of the game, for the agents' processes
    this.asking = null; // {id, seat, since, state}
    this.paused = false;
    this.hinted = null; // the key of the position that a hint was asked for
    this.setUp = null; // {position, stone}
    this.wished = "";
    this.build();
    this.changed();
    this.listen();
    host.start(message => this.receive(message), online => this.connected(online));
    this.timer = setInterval(() => this.tick(), TICK);
  }

  destroy() {
    clearInterval(this.timer);
    this.stop.abort();
    this.root.replaceChildren();
  }

  // ---- what is on the page

  build() {
    const {replayer} = this.options;
    this.board = new BoardView(column => this.press(column));
    this.graph = new Graph(ply => this.go(ply));
    this.list = new MoveList(ply => this.go(ply));
    this.cards = [1, 2].map(player => new SeatCard(player, name => this.sit(player - 1, name),
      () => askAgent(this.root, name => this.host.send({type: "check", agent: name, seat: player - 1}))));
    this.verdict = el("p", {class: "cx-verdict", role: "status"});
    this.working = el("p", {class: "cx-working", "aria-hidden": "true"});
    this.notice = el("p", {class: "cx-notice", role: "alert"});
    this.panel = el("div", {class: "cx-panel"}, el("div", {class: "cx-said"}, this.verdict, this.working, this.notice),
      this.graph.element, this.list.element, this.steps(), replayer ? null : this.tools(), this.choices());
    this.setUpBar = el("div", {class: "cx-setup"});
    this.main = el("div", {class: "cx-main-area"}, el("div", {class: "cx-seats"}, ...this.cards.map(card => card.element)),
      this.setUpBar, this.board.element);
    this.root.classList.add("cx");
    this.root.tabIndex = -1; // a click on the board gives it the keys
    this.root.classList.toggle("cx-replayer", Boolean(replayer));
    this.root.append(el("div", {class: "cx-layout"}, this.main, this.panel));
  }

  steps() {
    const step = (name, picture, key, press) => button({name, picture, key, press, bare: true});
    this.mistakes = button({name: "Mistake", picture: "next", key: "M", press: () => this.goToMistake(1)});
    return el("div", {class: "cx-steps", role: "group", "aria-label": "go through the game"},
      step("To the start", "first", "Home", () => this.go(0)), step("One ply back", "back", "ArrowLeft", () => this.go(this.game.cursor - 1)),
      step("One ply on", "forward", "ArrowRight", () => this.go(this.game.cursor + 1)),
      step("To the end", "last", "End", () => this.go(this.game.moves.length)), this.mistakes);
  }

  tools() {
    const tool = (name, picture, key, press) => button({name, picture, key, press});
    this.pausing = tool("Stop", "pause", "Space", () => this.pause());
    this.undoing = tool("Undo", "undo", "U", () => this.undo());
    this.redoing = tool("Redo", "redo", "R", () => this.redo());
    return el("div", {class: "cx-tools", role: "group", "aria-label": "game"},
      tool("New", "fresh", "N", () => this.askNew()), this.undoing, this.redoing,
      tool("Hint", "hint", "H", () => this.hint()), this.pausing, tool("Set up", "edit", "S", () => this.beginSetUp()),
      tool("Load", "open", "L", () => this.askLoad()), tool("Copy", "copy", "C", () => this.copy()),
      tool("Flip", "flip", "F", () => this.flip()), tool("Keys", "help", "?", () => showKeys(this.root, KEYS, this.view.first)));
  }

  choices() {
    this.overlays = OVERLAYS.map(([name, words]) => el("button", {
      type: "button", class: "cx-choice", onclick: () => this.look({overlay: name}), "data-overlay": name,
    }, words));
    this.pace = el("select", {"aria-label": "pause between moves"},
      ...PACES.map(([seconds, words]) => el("option", {value: String(seconds)}, words)));
    this.pace.addEventListener("change", () => this.look({pace: Number(this.pace.value)}));
    this.counting = el("select", {"aria-label": "columns are counted from"},
      el("option", {value: "1"}, "from 1"), el("option", {value: "0"}, "from 0, as Kaggle"));
    this.counting.addEventListener("change", () => this.look({first: Number(this.counting.value)}));
    return el("div", {class: "cx-choices"},
      el("div", {class: "cx-scores"}, "scores ",
        el("div", {class: "cx-group", role: "group", "aria-label": "exact scores"}, ...this.overlays)),
      el("label", {}, "columns ", this.counting),
      this.options.replayer ? null : el("label", {class: "cx-pace"}, "pace ", this.pace));
  }

  // ---- what the player does

  press(column) {
    if (this.setUp) {
      this.putStone(column);
      return;
    }
    const {game} = this;
    const {shown} = game;
    if (!this.mayPress(column)) return;
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

  mayPress(column) {
    const {game} = this, {shown} = game;
    if (this.options.replayer || landing(shown, column) < 0 || this.isOverAt(game.cursor)) return false;
    return this.seats[moverOf(shown) - 1] === null;
  }

  isOverAt(ply) { return ply === this.game.moves.length && this.game.isOver; }

  go(ply) {
    const {game} = this, target = Math.max(0, Math.min(game.moves.length, ply));
    if (target === game.cursor || this.setUp) return;
    const falls = target === game.cursor + 1;
    game.cursor = target;
    this.changed({falls});
  }

  goToMistake(way) {
    const plies = this.movesMade().filter(move => move.lost).map(move => move.ply);
    const next = way > 0 ? plies.find(ply => ply > this.game.cursor) ?? plies[0]
      : plies.findLast(ply => ply < this.game.cursor) ?? plies.at(-1);
    if (next !== undefined) this.go(next);
    else this.say(this.shows ? "No mistake is proven so far." : "Scores are off: no mistake is known.");
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

  askNew() {
    const {rows, columns, inarow} = this.game.start;
    askNewGame(this.root, {rows, columns, inarow}, this.config, this.agents.length > 0, values => {
      const {rows, columns, inarow, ...clock} = values;
      Object.assign(this.config, clock);
      this.begin(Game.of({rows, columns, inarow}));
    });
  }

  // Another game on the board; seats: who plays it, if not those who play now.
  begin(game, seats = null) {
    this.stopAsking();
    this.seats = seats ?? this.seats;
    this.game = game;
    this.played += 1;
    this.paused = false;
    this.setUp = null;
    this.changed();
  }

  askLoad() {
    askGame(this.root, this.game.start.columns, (text, name) => this.load(text, name));
  }

  // A game from elsewhere: one that is over is shown from its start, another where it stands.
  loaded(entry) {
    const game = Game.of(entry);
    game.cursor = game.isOver ? 0 : game.moves.length;
    return game;
  }

  load(text, name) {
    const {rows, columns, inarow} = this.game.start;
    this.host.send({type: "read", text, name, rows, columns, inarow});
  }

  async copy() {
    const {moves} = this.game, text = moves.some(column => column > 9) ? moves.join(",") : moves.join("");
    try {
      await navigator.clipboard.writeText(text);
      this.say(`Copied: ${text || "nothing yet"}`);
    } catch {
      this.say(`The game's columns: ${text}`);
    }
  }

  sit(seat, name) {
    this.stopAsking();
    this.seats = this.seats.map((agent, each) => each === seat ? name : agent);
    this.game.names = null;
    if (this.game.forfeit && this.game.forfeit.seat === seat) this.game.forfeit = null;
    this.paused = false;
    this.changed();
  }

  flip() { this.look({flipped: !this.view.flipped}); }

  look(change) {
    Object.assign(this.view, change);
    this.changed();
  }

  hint() {
    if (this.setUp || this.isOverAt(this.game.cursor)) return;
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

  // ---- a position set up stone by stone

  beginSetUp() {
    if (this.setUp || this.options.replayer) return;
    this.stopAsking();
    this.setUp = {position: this.game.shown, stone: "turn"};
    this.changed();
  }

  putStone(column) {
    const {position, stone} = this.setUp;
    const cell = landing(position, column), below = cell < 0 ? column : cell + position.columns;
    if (stone === "0") {
      if (below < position.cells.length) this.setUp.position = withCell(position, below, "0");
    } else if (cell >= 0) {
      this.setUp.position = withCell(position, cell, stone === "turn" ? moverOf(position) : stone);
    }
    this.changed({falls: true});
  }

  endSetUp(taken) {
    const {position} = this.setUp;
    this.setUp = null;
    if (taken) this.begin(new Game(position));
    else this.changed();
  }

  showSetUp() {
    this.setUpBar.hidden = !this.setUp;
    if (!this.setUp) {
      this.setUpBar.replaceChildren();
      return;
    }
    const {position, stone} = this.setUp, problem = setUpProblem(position);
    const pick = (value, words, player) => {
      const made = el("button", {type: "button", class: "cx-choice", onclick: () => {
        this.setUp.stone = value;
        this.changed();
      }}, player ? el("i", {class: `cx-dot cx-p${player}`}) : null, words);
      made.setAttribute("aria-pressed", String(stone === value));
      return made;
    };
    const done = el("button", {type: "button", class: "cx-button cx-main", onclick: () => this.endSetUp(true)}, "Done");
    done.disabled = Boolean(problem);
    const clear = el("button", {type: "button", class: "cx-button", onclick: () => {
      this.setUp.position = emptyPosition(position);
      this.changed();
    }}, "Clear");
    const cancel = el("button", {type: "button", class: "cx-button", onclick: () => this.endSetUp(false)}, "Cancel");
    const stones = el("div", {class: "cx-group", role: "group", "aria-label": "stone to put"}, pick("turn", "In turn"),
      pick("1", this.side(1), 1), pick("2", this.side(2), 2), pick("0", "Take away"));
    keepingFocus(this.setUpBar, () => this.setUpBar.replaceChildren(stones, clear, cancel, done));
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
    this.host.send({type: "ask", id, game: this.played, seat, agent, position: this.game.last, bank: this.bankOf(seat),
      config: this.config});
    this.tick();
  }

  stopAsking() {
    if (this.asking && this.asking.state !== "waiting") this.host.send({type: "drop"});
    this.asking = null;
  }

  // The overage time that a seat has left.
  bankOf(seat, ply = this.game.moves.length) {
    for (let each = ply - 1; each >= 0; each--) {
      if (moverOf(this.game.positions[each]) - 1 === seat && this.game.notes[each].bank !== undefined) {
        return this.game.notes[each].bank;
      }
    }
    return this.config.bank;
  }

  tick() {
    const {asking} = this, now = performance.now();
    this.cards.forEach((card, seat) => {
      const mine = asking?.seat === seat && asking.since !== null;
      card.tick({bank: this.seats[seat] === null ? null : this.bankOf(seat, mine ? undefined : this.game.cursor),
        used: mine ? (now - asking.since) / 1000 : null, allowed: this.config.actTimeout, state: asking?.state});
    });
    this.showWork(now);
  }

  // ---- messages

  receive(message) {
    const {type} = message;
    if (type === "welcome") this.welcome(message);
    else if (type === "values") this.learn(message);
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
    this.root.classList.toggle("cx-offline", !online);
  }

  welcome({agents = [], config = null, seats = null, game = null}) {
    this.agents = agents;
    if (!this.welcomed && !this.restore()) {
      if (config) {
        const {actTimeout, bank, ...size} = config;
        this.config = {actTimeout, bank};
        this.game = Game.of(size);
      }
      if (seats) this.seats = seats;
      if (game) this.game = this.loaded(game);
    }
    this.played += 1 + Math.floor(1e9 * Math.random()); // the agents of this connection have begun no game yet
    this.welcomed = true;
    this.say("");
    this.changed();
  }

  learn({position, values, done, why}) {
    const key = keyOf(position);
    this.values.set(key, {values, done, why});
    if (!this.drawing) {
      this.drawing = requestAnimationFrame(() => {
        this.drawing = null;
        this.show();
      });
    }
  }

  follow({id, type}) {
    if (this.asking?.id !== id) return;
    if (type === "loading") this.asking.state = "loading";
    else Object.assign(this.asking, {state: "thinking"});
  }

  answered({id, column, seconds, bank, load, thoughts}) {
    if (this.asking?.id !== id) return;
    const {game} = this, follows = game.atEnd, mover = moverOf(game.last);
    this.asking = null;
    game.push(column, {seconds, bank, load, thoughts});
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
      this.failed({id, kind: "it cannot play", detail: text});
      return;
    }
    this.say(text);
  }

  // ---- exact scores

  get shows() {
    return this.view.overlay === "on" || (this.view.overlay === "after" && this.game.isOver);
  }

  lookUp = position => this.values.get(keyOf(position))?.values ?? null;

  // Asks the host for what is to be shown and is not proven yet: the position on the board first.
  wish() {
    const {game} = this;
    const wanted = [];
    if (!this.setUp && !document.hidden) {
      const positions = this.shows ? [game.shown, ...game.positions.toReversed()] : [];
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
      const label = `ply ${stonesOf(position) + 1}, ${this.side(player)}: column ${column + first}`
        + (lost ? `; ${LOSSES[lost]}; best ${verdict.best.map(each => each + first).join(", ")}` : "");
      return {ply: index + 1, text: String(column + first), label, lost, verdict, seconds: note.seconds, player};
    });
  }

  // ---- showing it all

  side(player) {
    const yellow = (player === 1) !== this.view.flipped;
    return yellow ? "Yellow" : "Red";
  }

  nameOf(seat) {
    return this.game.names?.[seat] ?? this.seats[seat] ?? this.side(seat + 1);
  }

  changed({falls = false, said = "", keepsHint = false} = {}) {
    if (!keepsHint) this.hinted = null;
    this.falls = falls;
    this.said = said;
    this.notice.textContent = "";
    this.wish();
    this.show();
    this.think();
    this.tick();
    this.keep();
    this.options.moved?.(this.game);
  }

  show() {
    const {game} = this;
    this.root.classList.toggle("cx-flipped", this.view.flipped);
    this.root.classList.toggle("cx-plain", !this.shows);
    this.root.classList.toggle("cx-setting", Boolean(this.setUp));
    this.root.classList.toggle("cx-over", this.isOverAt(game.cursor));
    const moves = this.movesMade();
    this.showBoard();
    this.showSetUp();
    this.showSeats();
    this.showSaid(moves);
    this.showGraph(moves);
    this.list.update({moves, cursor: game.cursor, start: game.firstPly});
    this.showControls(moves);
    this.falls = false;
  }

  showBoard() {
    const {game, setUp} = this;
    const position = setUp ? setUp.position : game.shown;
    const over = !setUp && this.isOverAt(game.cursor);
    const values = this.shows && !setUp && !over ? this.lookUp(position) : null;
    const hints = this.hinted === keyOf(position) ? bestColumns(this.lookUp(position)) : [];
    const all = Array.from({length: position.columns}, (_, column) => column);
    const open = all.filter(column => setUp ? true : this.mayPress(column));
    const overlaid = this.shows && !setUp;
    this.board.update({
      position, hints, open: setUp ? openColumns(position) : open, first: this.view.first,
      lastCell: setUp ? -1 : game.cellOf(game.cursor), line: setUp ? [] : game.line, moves: this.falls,
      mover: setUp && "12".includes(setUp.stone) ? Number(setUp.stone) : moverOf(position),
      chips: all.map(column => this.chip(position, values, column)),
      labels: all.map(column => this.columnLabel(position, values, column)),
      threats: overlaid && !over ? threatsIn(position) : null, ...this.barOf(),
    });
  }

  chip(position, values, column) {
    const {shows, setUp} = this;
    if (!shows || setUp || landing(position, column) < 0 || this.isOverAt(this.game.cursor)) return {kind: "cx-blank"};
    const value = values?.[column] ?? null, known = this.values.get(keyOf(position));
    const result = value === null ? null : resultOf(value);
    if (result === null) return {kind: known?.done || !this.online ? "cx-blank" : "cx-pending", figure: ""};
    const best = bestColumns(values).includes(column) ? " cx-best" : "";
    const plies = isExact(value) && result ? String(pliesToEnd(value[0], stonesOf(position), position.cells.length)) : "";
    return {kind: `cx-${RESULTS[result]}${best}${plies || !result ? "" : " cx-open-end"}`, word: RESULTS[result],
      figure: result ? plies || "…" : "="};
  }

  columnLabel(position, values, column) {
    const stones = [];
    for (let cell = (position.rows - 1) * position.columns + column; cell >= 0; cell -= position.columns) {
      if (position.cells[cell] !== "0") stones.push(this.side(Number(position.cells[cell])));
    }
    const words = values?.[column] ? wordsOf(values[column], position) : "";
    const full = stones.length === position.rows ? ", full" : "";
    return `column ${column + this.view.first}${words ? `, ${words}` : ""}, ${stones.join(" ") || "empty"}${full}`;
  }

  barOf() {
    const {game, setUp} = this;
    const share = this.shows && !setUp ? this.share(game.cursor) : null;
    return {share, doubt: 0, barLabel: share === null ? "value not known" : this.valueWords(game.cursor)};
  }

  // "Yellow wins in 9 plies", of the position at a ply.
  valueWords(ply) {
    const {game} = this, position = game.positions[ply];
    if (this.isOverAt(ply) && !game.forfeit) return this.endWords();
    const value = valueOfMoves(this.lookUp(position));
    if (value === null || resultOf(value) === null) return "";
    const words = wordsOf(value, position), mover = moverOf(position);
    if (resultOf(value) === 0) return "A draw with best play";
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
    return winner === 0 ? "A draw: the board is full" : this.winnerWords(winner);
  }

  winnerWords(winner) {
    const name = this.nameOf(winner - 1), side = this.side(winner);
    return name === side ? `${side} wins` : `${side} wins (${name})`;
  }

  showSeats() {
    const {game} = this, over = this.isOverAt(game.cursor);
    this.cards.forEach((card, seat) => {
      const thoughts = [game.cursor, game.cursor - 1].filter(ply => ply > 0)
        .filter(ply => moverOf(game.positions[ply - 1]) - 1 === seat).map(ply => game.notes[ply - 1].thoughts)[0];
      card.update({
        agents: this.agents, agent: this.seats[seat], name: game.names?.[seat] ?? null, first: this.view.first,
        tells: game.notes.some((note, ply) => note.thoughts && moverOf(game.positions[ply]) - 1 === seat),
        toMove: !over && moverOf(game.shown) - 1 === seat, won: over && game.winner === seat + 1, thoughts,
      });
    });
  }

  showSaid(moves) {
    const {game, setUp} = this;
    if (setUp) {
      const problem = setUpProblem(setUp.position);
      this.words = "";
      setText(this.verdict, `Set up: ${problem || `${this.side(moverOf(setUp.position))} to move`}`);
      return;
    }
    const parts = [el("strong", {}, this.headline())];
    const last = moves[game.cursor - 1];
    if (last?.lost) parts.push(el("span", {class: `cx-blame cx-lost${last.lost}`}, this.blame(last)));
    if (this.hinted) parts.push(el("span", {class: "cx-tip"}, this.hintWords()));
    if (this.said) parts.unshift(el("span", {class: "cx-hidden"}, this.said));
    const words = parts.map(part => part.textContent).join("\n"); // a screen reader reads what is put here: put it once
    if (words === this.words) return;
    this.words = words;
    this.verdict.replaceChildren(...parts);
  }

  headline() {
    const {game} = this;
    if (this.isOverAt(game.cursor)) return this.endWords();
    const mover = this.side(moverOf(game.shown));
    if (!this.shows) return `${mover} to move`;
    const words = wordsOf(valueOfMoves(this.lookUp(game.shown)), game.shown);
    const why = this.values.get(keyOf(game.shown))?.why;
    return words ? `${mover} to move, ${words}` : why ? `${mover} to move: ${why}` : `${mover} to move`;
  }

  blame({text, verdict}) {
    const names = {1: "won", 0: "drawn", [-1]: "lost"}, {first} = this.view;
    const best = verdict.best.map(column => column + first).join(", ");
    return `Column ${text} gave away a ${names[verdict.before]} game: now ${names[verdict.after]}. Best: ${best}`;
  }

  hintWords() {
    const {shown} = this.game, values = this.lookUp(shown), best = bestColumns(values);
    if (!best.length) return this.online ? "Looking for the best column …" : "No hint without a connection";
    const words = wordsOf(values[best[0]], shown), names = best.map(column => column + this.view.first).join(" or ");
    return `Hint: column ${names} (${words})`;
  }

  // What is being solved or waited for; it ticks, so that no screen reader is told.
  showWork(now) {
    const {game, online} = this, known = this.values.get(keyOf(game.shown));
    const open = this.wished && !this.isOverAt(game.cursor) && !known?.done && now - this.wishedAt > PATIENCE;
    const seconds = Math.floor((now - this.wishedAt) / 1000);
    const solving = online && (this.shows || this.hinted) && open ? `solving … ${seconds ? `${seconds} s` : ""}` : "";
    const lost = !online && this.welcomed ? "The connection is lost. The board still works, without agents and scores; "
      + "it goes on when the server is back." : "";
    const waits = !this.asking && this.seats[moverOf(game.shown) - 1] !== null && !game.isOver && !lost
      ? `${this.nameOf(moverOf(game.shown) - 1)} waits: press Space to let it play from here` : "";
    setText(this.working, lost || waits || solving);
    this.working.classList.toggle("cx-busy", Boolean(solving) && !lost && !waits);
  }

  showGraph(moves) {
    const {game} = this;
    const shares = game.positions.map((_, ply) => this.shows ? this.share(ply) : null);
    const mistakes = Object.fromEntries(moves.filter(move => move.lost).map(move => [move.ply, move.lost]));
    const words = `ply ${game.cursor} of ${game.moves.length}. ${this.shows ? this.valueWords(game.cursor) : ""}`;
    this.graph.update({shares, cursor: game.cursor, mistakes, words});
  }

  showControls(moves) {
    const {game} = this;
    for (const made of this.overlays) {
      made.setAttribute("aria-pressed", String(made.dataset.overlay === this.view.overlay));
    }
    this.pace.value = String(this.view.pace);
    this.counting.value = String(this.view.first);
    this.mistakes.disabled = !moves.some(move => move.lost);
    if (this.options.replayer) return;
    this.undoing.disabled = game.cursor === 0;
    this.redoing.disabled = game.atEnd;
    const agents = this.seats.some(Boolean), goes = !this.paused && game.atEnd;
    const name = goes ? "Stop" : "Go on", picture = goes ? "pause" : "play";
    if (this.pausing.getAttribute("aria-label") !== name) {
      const made = button({name, picture, key: "Space", press: () => this.pause()});
      keepingFocus(this.pausing.parentElement, () => this.pausing.replaceWith(made));
      this.pausing = made;
    }
    this.pausing.disabled = !agents || (game.isOver && game.atEnd);
    this.root.classList.toggle("cx-watching", this.seats.every(Boolean));
  }

  say(text) { this.notice.textContent = text; }

  // ---- keys, files that are dropped, and what outlasts a reload

  listen() {
    this.stop = new AbortController();
    const {signal} = this.stop, keys = this.options.keys ?? this.root;
    keys.addEventListener("keydown", event => this.key(event), {signal});
    document.addEventListener("visibilitychange", () => this.wish(), {signal}); // nothing is solved for nobody
    this.root.addEventListener("dragover", event => {
      event.preventDefault();
      this.root.classList.add("cx-dropping");
    }, {signal});
    this.root.addEventListener("dragleave", event => {
      if (!this.root.contains(event.relatedTarget)) this.root.classList.remove("cx-dropping");
    }, {signal});
    this.root.addEventListener("drop", event => this.dropped(event), {signal});
  }

  async dropped(event) {
    event.preventDefault();
    this.root.classList.remove("cx-dropping");
    const [file] = event.dataTransfer.files;
    if (file && !this.options.replayer) this.load(await file.text(), file.name);
  }

  key(event) {
    const {key, target} = event;
    if (event.ctrlKey || event.metaKey || event.altKey || target.closest?.("dialog, input:not([type=range]), textarea, select")) return;
    if (target.type === "range" && key.startsWith("Arrow")) return; // the slider steps by itself
    if (key === " " && target.closest?.("button")) return; // which it presses
    const act = this.actionOf(key, event.shiftKey);
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  actionOf(key, shift) {
    const {game} = this;
    const moving = {
      ArrowLeft: () => this.go(game.cursor - 1), ArrowRight: () => this.go(game.cursor + 1),
      Home: () => this.go(0), End: () => this.go(game.moves.length), m: () => this.goToMistake(shift ? -1 : 1),
      o: () => this.look({overlay: OVERLAYS[(OVERLAYS.findIndex(([name]) => name === this.view.overlay) + 1) % 3][0]}),
    };
    const playing = {
      u: () => this.undo(), Backspace: () => this.undo(), r: () => this.redo(), h: () => this.hint(),
      n: () => this.askNew(), s: () => this.beginSetUp(), l: () => this.askLoad(), c: () => this.copy(),
      f: () => this.flip(), " ": () => this.pause(), "?": () => showKeys(this.root, KEYS, this.view.first),
      Escape: this.setUp ? () => this.endSetUp(false) : null,
    };
    if (/^[0-9]$/.test(key)) {
      const column = Number(key) - this.view.first;
      return column >= 0 && column < game.start.columns && !this.options.replayer ? () => this.press(column) : null;
    }
    const name = key.length === 1 ? key.toLowerCase() : key;
    return moving[name] ?? (this.options.replayer ? null : playing[name]);
  }

  keep() {
    const {storage} = this.options;
    if (!storage || !this.welcomed) return;
    const {game, seats, config, view, paused} = this, {cursor, notes} = game;
    storage.setItem("board", JSON.stringify({game: game.toEntry(), cursor, notes, seats, config, view, paused}));
  }

  restore() {
    const kept = this.options.storage?.getItem("board");
    if (!kept) return false;
    const {game, cursor, notes, seats, config, view, paused} = JSON.parse(kept);
    this.game = Game.of(game);
    Object.assign(this.game, {cursor, notes});
    Object.assign(this, {seats, config, paused});
    Object.assign(this.view, view);
    return true;
  }
}
