// The program of space-sockets.ts: it runs in a network namespace, opens sockets there and hands
// them to its parent. A socket stays in the namespace in which it was opened, in whichever process
// it is used. Questions are { number, listen } or { number, connect }, with { host, port }; answers
// are { number, problem? } together with the socket.

import { connect, createServer } from 'node:net';

process.on('message', ({ number, listen: own, connect: other }) => {
  const failed = ({ message }) => process.send({ number, problem: message });
  if (own !== undefined) {
    const server = createServer();
    server.once('error', failed);
    server.listen(own, () => process.send({ number }, server, () => server.close()));
    return;
  }
  const socket = connect(other);
  // It must not read: the bytes are for the parent.
  socket.pause();
  socket.once('error', failed);
  socket.once('connect', () => {
    socket.off('error', failed);
    socket.on('error', () => {});
    process.send({ number }, socket);
  });
});
// The parent is gone.
process.on('disconnect', () => process.exit());
