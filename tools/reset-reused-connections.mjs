// Preloaded into a program (node --import), makes every HTTP server in it reset a connection at the second request.
//
// An idle connection may be closed by the server at any moment, also while the client sends its next request on it;
// the client then gets ECONNRESET. How often this happens depends on the load of the machine. With this module it
// happens always, so a program that passes does not depend on it.

import { Server } from 'node:http';

const used = new WeakSet();
const emit = Server.prototype.emit;

Server.prototype.emit = function (event, ...args) {
  if (event !== 'request') return emit.call(this, event, ...args);
  const { socket } = args[0];
  if (used.has(socket)) {
    socket.resetAndDestroy();
    return true;
  }
  used.add(socket);
  return emit.call(this, event, ...args);
};
