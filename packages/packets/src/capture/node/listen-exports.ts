/**
 * A UDP socket that receives flow exports: the shell around `ExportDecoder`.
 *
 * Datagrams wait in a queue of bounded length while the caller works. When it is full, further ones
 * are dropped and counted, as the kernel would drop them: UDP has no way to slow the sender down.
 */

import { createSocket, type RemoteInfo } from 'node:dgram';
import { once } from 'node:events';

/** A datagram, and the exporter that sent it as address and port. */
export interface ExportDatagram {
  readonly bytes: Uint8Array;
  readonly exporter: string;
  /** Datagrams that were dropped so far because the caller was too slow. */
  readonly dropped: number;
}

export interface ListenExportsOptions {
  /** Address to listen on; all addresses of IPv4 by default. */
  readonly address?: string;
  /** Port to listen on; 0 takes a free one. */
  readonly port: number;
  /** Called with the port once the socket receives. */
  readonly onListening?: (port: number) => void;
  /** Ends the listening. */
  readonly signal?: AbortSignal;
}

/** Bytes of waiting datagrams at most, with the cost of an object for each. */
const MOST_WAITING_BYTES = 32 << 20;
const DATAGRAM_COST = 512;
/** Bytes that the kernel is asked to hold; it gives what its limit allows. */
const KERNEL_BYTES = 8 << 20;

/** Yields datagrams until the signal ends it or the caller stops. */
export async function* listenExports({
  address = '0.0.0.0',
  port,
  onListening,
  signal,
}: ListenExportsOptions): AsyncGenerator<ExportDatagram, void, undefined> {
  const socket = createSocket({ type: address.includes(':') ? 'udp6' : 'udp4' });
  const waiting: { bytes: Uint8Array; exporter: string }[] = [];
  let waitingBytes = 0;
  let dropped = 0;
  let failure: Error | null = null;
  let wake = () => {};
  socket.on('message', (bytes: Uint8Array, { address: from, port: fromPort }: RemoteInfo) => {
    if (waitingBytes > MOST_WAITING_BYTES) {
      dropped++;
    } else {
      waitingBytes += bytes.length + DATAGRAM_COST;
      waiting.push({ bytes, exporter: from.includes(':') ? `[${from}]:${fromPort}` : `${from}:${fromPort}` });
    }
    wake();
  });
  const stop = () => wake();
  signal?.addEventListener('abort', stop);
  try {
    signal?.throwIfAborted();
    socket.bind(port, address);
    await once(socket, 'listening');
    socket.on('error', (error) => {
      failure = error;
      wake();
    });
    try {
      socket.setRecvBufferSize(KERNEL_BYTES);
    } catch {
      // The default of the system stays.
    }
    onListening?.(socket.address().port);
    while (signal?.aborted !== true) {
      if (failure !== null) throw failure;
      if (waiting.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      const ready = waiting.splice(0);
      waitingBytes = 0;
      for (const datagram of ready) {
        yield { ...datagram, dropped };
        if (signal?.aborted) return;
      }
    }
  } finally {
    signal?.removeEventListener('abort', stop);
    socket.close();
  }
}
