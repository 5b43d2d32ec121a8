// The board on a page of its own, served by connectx_toolkit/board/server.py: its host is a socket that comes back when it is lost.

import { Board } from "./board.js";

const WAIT = [250, 500, 1000, 2000]; // milliseconds before the next try to connect

class SocketHost {
  start(receive, online) {
    Object.assign(this, {receive, online, tries: 0});
    this.connect();
  }

  connect() {
    const socket = new WebSocket(new URL("socket", location.href.replace(/^http/, "ws")));
    this.socket = socket;
    socket.onopen = () => {
      this.tries = 0;
      this.online(true);
    };
    socket.onmessage = event => this.receive(this.read(event.data));
    socket.onclose = () => {
      if (this.tries === 0) this.online(false);
      setTimeout(() => this.connect(), WAIT[Math.min(this.tries++, WAIT.length - 1)]);
    };
  }

  read(text) {
    try {
      return JSON.parse(text);
    } catch (problem) {
      return {type: "problem", text: `Cannot read a message of the server: ${problem.message}`};
    }
  }

  send(message) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }
}

window.board = new Board(document.getElementById("board"), new SocketHost(),
  {keys: document, storage: sessionStorage, address: true});
