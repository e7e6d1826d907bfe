// Preloaded into a program (node --import), this module makes every HTTP server in it reset a
// connection at the second request.
//
// A server may close an idle connection at any moment, even while the client sends its next request
// on it; the client then gets ECONNRESET. How often this happens depends on the load of the
// machine. With this module it always happens, so a program that passes with it does not depend on
// that timing.

import { Server } from 'node:http';

const used = new WeakSet();
const { emit } = Server.prototype;

Object.assign(Server.prototype, { emit: emitOrReset });

/**
 * @this {Server}
 * @param {string} event
 * @param {unknown[]} args
 * @returns {boolean}
 */
function emitOrReset(event, ...args) {
  if (event === 'request') {
    const { socket } = /** @type {import('node:http').IncomingMessage} */ (args[0]);
    if (used.has(socket)) {
      socket.resetAndDestroy();
      return true;
    }
    used.add(socket);
  }
  return Reflect.apply(emit, this, [event, ...args]);
}
