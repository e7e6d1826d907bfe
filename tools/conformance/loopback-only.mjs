// Preloaded into the suite's server (`node --import`), which listens on all addresses of the
// machine: a server that is given a port alone listens on 127.0.0.1.

import { Server } from 'node:net';

const { listen } = Server.prototype;

Object.assign(Server.prototype, { listen: listenOnLoopback });

/**
 * @this {Server}
 * @param {unknown} port
 * @param {unknown[]} rest
 * @returns {Server}
 */
function listenOnLoopback(port, ...rest) {
  const address = typeof rest[0] === 'string' ? [] : ['127.0.0.1'];
  return Reflect.apply(listen, this, [port, ...address, ...rest]);
}
