// Preloaded into the suite's server (`node --import`), which listens on all addresses of the
// machine: a server that is given a port alone listens on 127.0.0.1.

import { Server } from 'node:net';

const { listen } = Server.prototype;
Server.prototype.listen = function listenOnLoopback(port, ...rest) {
  return typeof rest[0] === 'string'
    ? listen.call(this, port, ...rest)
    : listen.call(this, port, '127.0.0.1', ...rest);
};
