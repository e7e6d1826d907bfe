/**
 * One request under way, as its caller sees it: a promise that ends with the answer, the deadline,
 * the caller's signal or the end of the transport, whichever comes first. Later outcomes are
 * dropped.
 */

import type { Cancel, Clock } from '../clock.ts';
import { MAX_MESSAGE_BYTES, type RequestOptions } from '../transport.ts';
import { TransportError, type TransportErrorCode } from '../transport-error.ts';

type Outcome =
  | { readonly body: Uint8Array }
  | { readonly refused: TransportErrorCode; readonly cause?: unknown };

/** Ends a request with its outcome. */
export type Settle = (outcome: Outcome) => void;

/** The reason of each refusal, after "Cannot ask a neighbour: ". */
const REASONS: Record<TransportErrorCode, string> = {
  timeout: 'expected an answer before the deadline, got none',
  aborted: 'expected to wait for the answer, got an abort',
  unreachable: 'expected a connection until the answer has come, got none',
  closed: 'expected an open transport, got one that is closed',
  peer: 'expected the address of a neighbour, got another one',
  topic: 'expected a topic that the neighbour serves, got an unknown one',
  size: `expected at most ${MAX_MESSAGE_BYTES} bytes, got more`,
  busy: 'expected the neighbour to have room, got a refusal because it has too many requests',
  refused: 'expected the neighbour to accept the signature, got a refusal (have both nodes the same secret?)',
  certificate:
    'expected the neighbour to accept the certificate, got a refusal (is it from an authority of the fleet, valid, and with the name of this node?)',
  clock: 'expected clocks that agree within 30 s, got a larger difference (is the time of both nodes right?)',
  replayed: 'expected a request that is new to the neighbour, got one that it has seen',
  version: 'expected a version of the protocol in common, got none',
  damaged: 'expected an answer with the signature of the fleet, got another one',
  failed: 'expected the service to answer, got an error in it',
};

/** The error for the caller of a request. */
export function requestError(code: TransportErrorCode, peer: string, cause?: unknown): TransportError {
  const message = `Cannot ask a neighbour: ${REASONS[code]} (${peer})`;
  return new TransportError(code, peer, message, cause === undefined ? undefined : { cause });
}

/** True if a word names a code, for words that come from another node. */
export function isErrorCode(word: string): word is TransportErrorCode {
  return Object.hasOwn(REASONS, word);
}

/** The requests of one transport that are under way. */
export class PendingRequests {
  readonly #clock: Clock;
  readonly #settles = new Set<Settle>();
  #isClosed = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Starts a request. `start` is given the function that ends it, and returns one that gives the
   * request up.
   */
  run(
    peer: string,
    { timeoutMs, signal }: RequestOptions,
    start: (settle: Settle) => Cancel,
  ): Promise<Uint8Array> {
    if (this.#isClosed) return Promise.reject(requestError('closed', peer));
    if (signal?.aborted) return Promise.reject(requestError('aborted', peer, signal.reason));
    return new Promise((resolve, reject) => {
      let giveUp: Cancel | undefined;
      let isOver = false;
      const settle: Settle = (outcome) => {
        if (isOver) return;
        isOver = true;
        stopTimer();
        signal?.removeEventListener('abort', abort);
        this.#settles.delete(settle);
        if ('body' in outcome) resolve(outcome.body);
        else {
          giveUp?.();
          reject(requestError(outcome.refused, peer, outcome.cause));
        }
      };
      const abort = () => settle({ refused: 'aborted', cause: signal?.reason });
      const stopTimer = this.#clock.after(timeoutMs, () => settle({ refused: 'timeout' }));
      signal?.addEventListener('abort', abort);
      this.#settles.add(settle);
      giveUp = start(settle);
      // The request may have ended in `start`, before there was a way to give it up.
      if (isOver) giveUp();
    });
  }

  /** Ends all requests, and refuses later ones. */
  close(): void {
    this.#isClosed = true;
    for (const settle of [...this.#settles]) settle({ refused: 'closed' });
  }
}
