/**
 * The responses of a connection that wait behind earlier ones (RFC 9112, 9.3.2). Node tells a
 * response that its connection is closed only if it is that response's turn, so the others listen
 * here.
 */

import type { Socket } from 'node:net';

/**
 * One listener per socket: a hundred pipelined requests with one each would be reported as a leak
 * (MaxListenersExceededWarning).
 */
const queuedBySocket = new WeakMap<Socket, Set<() => void>>();

/**
 * Callbacks for the closing of this connection, for responses whose turn has not come. Each
 * response removes its own when it is done.
 */
export function queuedOn(socket: Socket): Set<() => void> {
  const known = queuedBySocket.get(socket);
  if (known !== undefined) return known;
  const queued = new Set<() => void>();
  queuedBySocket.set(socket, queued);
  socket.once('close', () => {
    for (const closed of [...queued]) closed();
  });
  return queued;
}
