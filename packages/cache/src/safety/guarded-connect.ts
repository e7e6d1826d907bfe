/**
 * Connections to origins, through the address guard. The cache leaves the machine only through this
 * file.
 *
 * `guardedConnector` is for undici's `connect` option; `guardedSocket` opens a plain socket for
 * CONNECT tunnels. Both check three times: the host as written (literal addresses never reach
 * `lookup`), the addresses that it resolves to, and the connected socket (however it was
 * connected). No part of the request is sent before the third check.
 */

import { connect as connectSocket, type Socket } from 'node:net';
import { buildConnector } from 'undici';
import type { AddressGuard } from './address-guard.ts';

export function guardedConnector(
  guard: AddressGuard,
  options: buildConnector.BuildOptions & { readonly timeout: number },
): buildConnector.connector {
  // Node's type of `lookup` and undici's differ only in an overload; they are called in the same
  // way.
  const connect = buildConnector({ ...options, lookup: guard.lookup } as buildConnector.BuildOptions);
  return (target, callback) => {
    const port = Number(target.port) || (target.protocol === 'https:' ? 443 : 80);
    const refusal = guard.checkHost(target.hostname, port);
    if (refusal !== null) {
      callback(refusal, null);
      return;
    }
    connect(target, (...result) => {
      const [error, socket] = result;
      if (error !== null || socket === null) return callback(...result);
      const late = guard.checkSocket(socket);
      if (late === null) return callback(null, socket);
      socket.on('error', ignore);
      socket.destroy();
      callback(late, null);
    });
  };
}

/**
 * Connects to host and port. The callback is called once, with the socket or with the error that
 * explains why there is none.
 */
export function guardedSocket(
  guard: AddressGuard,
  target: { readonly host: string; readonly port: number; readonly timeoutMs: number },
  callback: (error: Error | null, socket: Socket | null) => void,
): void {
  const refusal = guard.checkHost(target.host, target.port);
  if (refusal !== null) {
    callback(refusal, null);
    return;
  }
  const host = target.host.startsWith('[') ? target.host.slice(1, -1) : target.host;
  const socket = connectSocket({ host, port: target.port, lookup: guard.lookup, noDelay: true });
  const finish = (error: Error | null) => {
    clearTimeout(timer);
    socket.off('error', finish);
    socket.off('connect', connected);
    if (error === null) return callback(null, socket);
    socket.on('error', ignore);
    socket.destroy();
    callback(error, null);
  };
  const connected = () => finish(guard.checkSocket(socket));
  const timer = setTimeout(() => {
    const text = `Cannot connect to ${target.host}:${target.port}: no connection within ${target.timeoutMs} ms`;
    // The code that the system itself uses for a timeout, so callers need not distinguish the two.
    finish(Object.assign(new Error(text), { code: 'ETIMEDOUT' }));
  }, target.timeoutMs);
  socket.once('error', finish);
  socket.once('connect', connected);
}

function ignore(): void {}
