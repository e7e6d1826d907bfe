// The yardstick, and the origin: Node's own http server, which sends the same bytes from memory and
// does nothing else.

import { createServer } from 'node:http';

const bodies = new Map([
  ['/10k', Buffer.alloc(10 * 1024, 'bloomery ')],
  ['/50m', Buffer.alloc(50 * 1024 * 1024, 'a set is a message ')],
]);
const small = Buffer.alloc(200, 'key ');
const modified = new Date(Date.now() - 86_400_000).toUTCString();

createServer(({ url = '/' }, response) => {
  const body = bodies.get(url) ?? (url.startsWith('/n/') ? small : undefined);
  if (body === undefined) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, {
    'Content-Type': 'application/octet-stream',
    'Content-Length': body.length,
    'Cache-Control': 'public, max-age=86400',
    'Last-Modified': modified,
    ETag: `"${body.length}"`,
  });
  response.end(body);
}).listen(Number(process.argv[2]), '127.0.0.1');
