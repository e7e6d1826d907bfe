/**
 * The sending end of a sync session for every structure: sketches, hash lists, rotating, scalable
 * and attenuated filters, counters themselves. The caller gives the plain frame of each new state,
 * and the messages keep remote copies of it up to date. docs/spec/sync.md is the protocol.
 *
 *     const publisher = new SnapshotPublisher({ frame: sketch.encode(), incarnation: boots });
 *     sketch.add(url);
 *     broadcast(publisher.publish(sketch.encode()));
 *     onRequest((bytes, reply) => reply(publisher.answer(bytes)));
 *
 *     const subscriber = new Subscriber({ structure: CountMinSketch });      // there
 *
 * Why not only `Publisher`. It takes a counting filter that tracks its changes, publishes the bits
 * of it, and remembers the changed bits of many generations. The other structures do not track
 * changes, so a generation is the difference of two frames, and the past is kept as frames. With
 * the default of twice a frame a delta can start from the last two generations; a subscriber that
 * missed more gets the full state.
 *
 * What it costs. Publishing compares all contents, and codes the changes: about as long as
 * `makeDelta`. In memory: the frame of the last generation and of the remembered ones.
 */

import { checkOptions } from '../../keys/check-options.ts';
import { INSPECT } from '../../keys/printing.ts';
import { checkChoice, checkInteger } from '../../math/checks.ts';
import { compressFrame } from '../coding/compressed-frame.ts';
import type { Effort } from '../coding/encode-bits.ts';
import { Snapshot } from '../coding/snapshot.ts';
import { encodeChanges, isRelated } from '../coding/snapshot-changes.ts';
import { Announcer, type AnnouncerOptions, type FullCode } from './announcer.ts';
import type { Generation } from './sync-message.ts';

export interface SnapshotPublisherOptions extends AnnouncerOptions {
  /** The plain frame of the first generation, which must not be changed afterwards. */
  readonly frame: Uint8Array;
  /** How messages are coded; see `compressFrame`. Default 'small'. */
  readonly effort?: Effort;
  /** The largest number of past generations that a delta can start from. Default 64. */
  readonly historyGenerations?: number;
  /** The largest number of bytes for the frames of past generations. Default: twice the frame. */
  readonly historyBytes?: number;
}

export class SnapshotPublisher {
  readonly #announcer: Announcer<Snapshot>;
  readonly #effort: Effort;
  readonly #historyGenerations: number;
  readonly #historyBytes: number | undefined;
  /** Past generations of the present epoch, oldest first. */
  #past: PastGeneration[] = [];
  /** Codes of the changes since past generations, by their sequence numbers, once requested. */
  #codes = new Map<number, Uint8Array>();

  constructor(options: SnapshotPublisherOptions) {
    checkOptions('SnapshotPublisher', options, OPTIONS);
    const { frame, effort = 'small', historyGenerations = 64, historyBytes } = options;
    this.#effort = checkChoice('effort', effort, ['small', 'fast']);
    this.#historyGenerations = checkInteger('historyGenerations', historyGenerations, 0, 2 ** 20);
    this.#historyBytes = historyBytes === undefined ? undefined : checkInteger('historyBytes', historyBytes);
    this.#announcer = new Announcer(options, new Snapshot(frame).check(), 1);
  }

  get publisherId(): bigint {
    return this.#announcer.publisherId;
  }

  /** The last closed generation. */
  get generation(): Generation {
    return this.#announcer.generation;
  }

  /** The number of past generations that a delta can start from now. */
  get historyLength(): number {
    return this.#past.length;
  }

  /**
   * Closes a generation with the plain frame of the present state, which must not be changed
   * afterwards. Returns the message for subscribers that hold the one before: the changes, or the
   * full state if that is smaller. Returns null if the frame is the same. A frame of another
   * structure, with other settings or another seed begins a new epoch and gives its full state.
   */
  publish(frame: Uint8Array): Uint8Array | null {
    const { generation, state: before } = this.#announcer;
    const snapshot = new Snapshot(frame).check();
    if (snapshot.sum === before.sum) return null;
    this.#codes = new Map();
    if (!isRelated(before, snapshot)) {
      this.#announcer.restart(snapshot);
      this.#past = [];
      return this.full();
    }
    this.#announcer.advance(snapshot);
    this.#past = this.#within([...this.#past, { generation, snapshot: before }]);
    return this.#since(generation, before);
  }

  /** The full state of the last generation. */
  full(): Uint8Array {
    return this.#announcer.full(this.#fullCode);
  }

  /** A message that names the last generation, so that a subscriber that missed it notices. */
  heartbeat(): Uint8Array {
    return this.#announcer.heartbeat();
  }

  /**
   * The answer to a request: a heartbeat if the subscriber lacks nothing, otherwise all changes
   * since its generation or the full state, whichever is smaller. Null if the bytes are not a
   * request to this publisher.
   */
  answer(request: Uint8Array): Uint8Array | null {
    const since = ({ sequence, sum }: Generation, question: number) => {
      const known = this.#past.find(({ generation }) => generation.sequence === sequence);
      return known?.generation.sum === sum
        ? this.#since(known.generation, known.snapshot, question)
        : undefined;
    };
    return this.#announcer.answer(request, since, (question) =>
      this.#announcer.full(this.#fullCode, question),
    );
  }

  toString(): string {
    const { epoch, sequence } = this.generation;
    return `SnapshotPublisher(${this.publisherId}, generation ${epoch}/${sequence}, ${this.#announcer.state.kind.name})`;
  }

  /** @internal */
  [INSPECT](): string {
    return this.toString();
  }

  #since({ sequence }: Generation, from: Snapshot, question?: number): Uint8Array {
    const { state: snapshot } = this.#announcer;
    let code = this.#codes.get(sequence);
    if (code === undefined) {
      code = encodeChanges(from, snapshot, this.#effort);
      this.#codes.set(sequence, code);
    }
    return this.#announcer.deltaOrFull(sequence, code, this.#fullCode, question);
  }

  get #fullCode(): FullCode {
    const { frame } = this.#announcer.state;
    return {
      // A coded frame has seldom less than a twentieth of the plain one.
      bytes: () => frame.length / 20,
      encode: () => compressFrame(frame, { effort: this.#effort }),
    };
  }

  /** The latest of these generations that fit into the limits. */
  #within(past: readonly PastGeneration[]): PastGeneration[] {
    const most = this.#historyBytes ?? 2 * this.#announcer.state.frame.length;
    let first = past.length;
    for (let bytes = 0; first > 0 && past.length - first < this.#historyGenerations; first--) {
      bytes += past[first - 1].snapshot.frame.length;
      if (bytes > most) break;
    }
    return past.slice(first);
  }
}

interface PastGeneration {
  readonly generation: Generation;
  readonly snapshot: Snapshot;
}

const OPTIONS = ['frame', 'incarnation', 'publisherId', 'effort', 'historyGenerations', 'historyBytes'];
