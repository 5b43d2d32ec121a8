// The board in a notebook: its host is the widget's model (connectx_toolkit/board/widget.py).

import { Board } from "./board.js";

class ModelHost {
  constructor(model) { this.model = model; }

  start(receive, online) {
    this.listener = message => receive(message);
    this.model.on("msg:custom", this.listener);
    online(true);
  }

  send(message) { this.model.send(message); }

  end() { this.model.off("msg:custom", this.listener); }
}

function render({model, el: root}) {
  const host = new ModelHost(model);
  root.classList.add("cx-notebook");
  root.dataset.lmSuppressShortcuts = "true"; // of JupyterLab
  const board = new Board(root, host, {moved(game) {
    const moves = game.moves.slice(0, game.cursor);
    if (moves.join() === model.get("moves").join()) return;
    model.set("moves", moves);
    model.save_changes();
  }});
  return () => {
    host.end();
    board.destroy();
  };
}

export default { render };
