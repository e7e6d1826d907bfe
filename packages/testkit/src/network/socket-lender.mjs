// The program of space-sockets.ts: it runs in a network namespace, opens sockets there and hands
// them to its parent. A socket stays in the namespace in which it was opened, in whichever process
// it is used. Questions are { number, listen }, { number, connect } or { number, datagrams }, with
// { host, port }; answers are { number, problem? } together with the socket.

import { createSocket } from 'node:dgram';
import { connect, createServer } from 'node:net';

process.on('message', ({ number, listen: own, connect: other, datagrams }) => {
  const failed = ({ message }) => process.send({ number, problem: message });
  if (datagrams !== undefined) {
    const socket = createSocket('udp4');
    socket.once('error', failed);
    const { host, port } = datagrams;
    // It must not stay open here, or this process would take some of the datagrams.
    socket.bind(port, host, () => process.send({ number }, socket, () => socket.close()));
    return;
  }
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
