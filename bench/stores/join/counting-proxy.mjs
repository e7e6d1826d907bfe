// A process that passes the connections of one unix socket on to another and counts the bytes in
// both directions. It is a process of its own, so that its work is not part of what is measured.

import { chmodSync } from 'node:fs';
import { connect, createServer } from 'node:net';

const [listen, target] = process.argv.slice(2);
const bytes = { up: 0, down: 0 };
const server = createServer((near) => {
  const far = connect(target);
  near.on('data', (data) => {
    bytes.up += data.length;
  });
  far.on('data', (data) => {
    bytes.down += data.length;
  });
  near.pipe(far).pipe(near);
  near.on('error', () => far.destroy());
  far.on('error', () => near.destroy());
});
server.listen(listen, () => {
  // The near server, which runs as another user, connects as well.
  chmodSync(listen, 0o777);
  process.send('ready');
});
process.on('message', () => process.send(bytes));
process.on('disconnect', () => process.exit());
