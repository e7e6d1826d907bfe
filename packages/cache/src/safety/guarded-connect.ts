/**
 * Connections to origins, through the address guard: the only door by which the cache leaves the machine.
 *
 * `guardedConnector` is what undici takes as `connect`; `guardedSocket` is a plain socket for CONNECT tunnels. Both ask three
 * times: the host as written (literal addresses never reach `lookup`), the addresses it resolves to, and the connected
 * socket (whatever way it came). Nothing of the request is sent before the third answer.
 */

import { connect as connectSocket, type Socket } from 'node:net';
import { buildConnector } from 'undici';
import type { AddressGuard } from './address-guard.ts';

export function guardedConnector(
  guard: AddressGuard,
  options: buildConnector.BuildOptions & { readonly timeout: number },
): buildConnector.connector {
  // Node's type of `lookup` and undici's differ in an overload only; they are called alike.
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

/** A socket to host and port, or the error that explains why there is none. The callback is called once. */
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
    const text = `No connection to ${target.host}:${target.port} within ${target.timeoutMs} ms`;
    // The code that the system gives when it has tried for long enough: whoever is told need not know whose patience ended.
    finish(Object.assign(new Error(text), { code: 'ETIMEDOUT' }));
  }, target.timeoutMs);
  socket.once('error', finish);
  socket.once('connect', connected);
}

function ignore(): void {}
