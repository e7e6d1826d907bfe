/**
 * One stream that is read from a neighbour, or one pull. It checks each frame, the hello's deadline
 * and the heartbeats, and tells once how it ended.
 */

import type { IncomingMessage } from 'node:http';
import type { Cancel, Clock } from '../clock.ts';
import type { FleetKeys } from '../fleet-keys.ts';
import { untilOffBeat } from '../link/common-beat.ts';
import type { TransportErrorCode } from '../transport-error.ts';
import { StreamSeal } from './answer-mac.ts';
import { certifiedNames } from './certificates/certified-names.ts';
import { connectionProblem } from './connection-problem.ts';
import { type Frame, FrameReader, HEARTBEAT, HELLO, MESSAGE, StreamError } from './frame.ts';
import { decodeHello, type Hello } from './hello.ts';
import type { PeerAddress } from './peer-address.ts';
import type { PeerClient } from './peer-client.ts';
import { refusalIn } from './refusal.ts';

/**
 * How a stream ended: there was no connection; the neighbour refused; the hello or three heartbeats
 * did not come; the bytes were not those of the neighbour; the neighbour ended it; or the neighbour
 * said goodbye.
 */
export type StreamEnd = 'unreachable' | 'refused' | 'silent' | 'damaged' | 'closed' | 'goodbye';

export interface StreamEvents {
  hello(hello: Hello): void;
  /** A later hello: the neighbour accepts these secrets from now on. */
  keysChanged(keys: readonly number[]): void;
  /** The neighbour has other certificates, and ends this stream soon. */
  renew(): void;
  heartbeat(): void;
  message(topicIndex: number, payload: Uint8Array): void;
  /**
   * Called once, as the last event. `why` is in words for an operator, `code` is that of a refusal.
   */
  ended(end: StreamEnd, why: string, code?: TransportErrorCode): void;
}

export interface StreamReaderOptions {
  readonly client: PeerClient;
  /** The keys that sign the request. */
  readonly keys: FleetKeys;
  readonly clock: Clock;
  readonly helloMs: number;
}

const MISSED_HEARTBEATS = 3;

/** Words for refusals that an operator can mend. */
const REFUSALS: Partial<Record<TransportErrorCode, string>> = {
  refused: 'refused: has the neighbour the same secret?',
  certificate: 'refused: it wants a certificate of its fleet with the name of this node',
  clock: 'refused: the clocks differ by more than 30 s',
  peer: 'refused: the address belongs to another node',
  version: 'refused: no version of the protocol in common',
  busy: 'refused: the neighbour has too many streams',
  closed: 'it is shutting down',
  unreachable: 'no answer of a node',
};

/** Reads a stream. The result ends it without an event. */
export function readStream(
  peer: PeerAddress,
  target: string,
  on: StreamEvents,
  { client, keys, clock, helloMs }: StreamReaderOptions,
): Cancel {
  const { request, nonce } = client.get(peer, target, keys);
  const seal = new StreamSeal(keys.response, nonce);
  const reader = new FrameReader();
  let hello: Hello | null = null;
  /** The names in the neighbour's certificate; undefined if names are not certified. */
  let names: readonly string[] | null | undefined;
  let hasHeard = false;
  let isConnected = false;
  let isOver = false;
  let stopTimer = clock.after(helloMs, () =>
    isConnected ? end('silent', 'silent') : end('unreachable', 'no connection'),
  );

  const stop = () => {
    isOver = true;
    stopTimer();
    request.destroy();
  };
  const end = (how: StreamEnd, why: string, code?: TransportErrorCode) => {
    if (isOver) return;
    stop();
    on.ended(how, why, code);
  };
  // Counts intervals of this node's own timer, not time: a node that stood still for a minute finds
  // the heartbeats of that minute waiting, and must not take its own pause for silence.
  const watchHeartbeats = (heartbeatMs: number, missed: number) => {
    hasHeard = false;
    stopTimer = clock.after(untilOffBeat(clock, heartbeatMs), () => {
      if (hasHeard) watchHeartbeats(heartbeatMs, 0);
      else if (missed + 1 < MISSED_HEARTBEATS) watchHeartbeats(heartbeatMs, missed + 1);
      else end('silent', 'silent');
    });
  };
  const take = (frame: Frame) => {
    if (!seal.isNext(frame)) return end('damaged', 'damaged');
    if (hello === null) {
      hello = frame.kind === HELLO ? decodeHello(frame.payload) : null;
      if (hello === null) return end('damaged', 'a stream without a hello');
      if (names !== undefined && !names?.includes(hello.node))
        return end('refused', `its certificate does not have its name ${hello.node}`);
      stopTimer();
      watchHeartbeats(hello.heartbeatMs, 0);
      on.hello(hello);
    } else if (frame.kind === MESSAGE) on.message(frame.topic, frame.payload);
    else if (frame.kind === HELLO) {
      const again = decodeHello(frame.payload);
      if (again?.leaving) end('goodbye', 'it is shutting down');
      else if (again?.renew) on.renew();
      else if (again !== null) on.keysChanged(again.keys);
    } else if (frame.kind === HEARTBEAT) on.heartbeat();
    // Frames of later versions are ignored.
  };
  const framesIn = (piece: Buffer): Frame[] => {
    try {
      return reader.push(piece);
    } catch (error) {
      if (!(error instanceof StreamError)) throw error;
      end('damaged', 'damaged');
      return [];
    }
  };
  const read = (piece: Buffer) => {
    // A part of a message is a sign of life: 8 MB may take longer than three heartbeats.
    hasHeard = true;
    for (const frame of framesIn(piece)) if (!isOver) take(frame);
  };

  request.on('socket', (socket) =>
    socket.once(peer.isTls ? 'secureConnect' : 'connect', () => {
      isConnected = true;
    }),
  );
  request.on('error', (error) =>
    end(hello === null ? 'unreachable' : 'closed', connectionProblem(error, peer.isTls)),
  );
  request.on('response', (response: IncomingMessage) => {
    if (response.statusCode !== 200) {
      const code = refusalIn(response);
      response.resume();
      end(code === 'unreachable' ? 'unreachable' : 'refused', REFUSALS[code] ?? `refused: ${code}`, code);
      return;
    }
    if (client.isCertified) names = certifiedNames(response.socket);
    response.on('data', read);
    response.on('error', () => end('closed', 'closed'));
    response.on('close', () => end('closed', 'closed'));
  });
  return stop;
}
