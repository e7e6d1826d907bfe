/**
 * Turns the lines of a trace into numbers and keeps them for replay: 16 bytes for each request, in
 * memory up to 64 MB and in a temporary file beyond (`WordSpool`), so memory is bounded by the
 * number of distinct names. Recording has three reasons. A pipe can be read once, and a comparison
 * replays it for each policy. A packed file can only be unpacked asynchronously, and a simulation
 * reads its trace synchronously. And the length of an object is known only after the last line.
 *
 * An object has one length: the longest body that was logged for it. A 304 has no body, a 206 only
 * a part, and an aborted download is short. Objects of which no line tells a length get the average
 * of the others, or 30 kB if the trace has no lengths at all.
 *
 * Times never go back. A line that is earlier than the one before it (servers log an answer at its
 * end, and lines of several processes mix) gets the time of that one. It is counted if it is more
 * than a minute earlier, because then files were probably given in the wrong order. Most logs have
 * whole seconds: the requests of one second are spread evenly over it, because a herd of requests
 * in the same millisecond would be an artefact.
 */

import { WordSpool } from '@bloomery/files';
import { NameNumbers } from './name-numbers.ts';
import { RecordedTrace } from './recorded-trace.ts';
import type { TraceLine } from './trace-line.ts';
import { RECORD_WORDS, type RecordViews, recordViews } from './trace-record.ts';

/** Length of objects in traces that tell no lengths. */
export const DEFAULT_OBJECT_BYTES = 30_000;

const CHUNK_RECORDS = 8192;
const SECOND_MS = 1000;
/** Lines of one log that are earlier by less than this are usual. */
const TOLERANCE_MS = 60_000;

export class TraceRecorder {
  readonly #objects: NameNumbers;
  readonly #clients: NameNumbers;
  readonly #spool = new WordSpool();
  #chunk: RecordViews = recordViews(new Int32Array(CHUNK_RECORDS * RECORD_WORDS));
  #inChunk = 0;
  #requests = 0;
  /** The longest body of each object, or -1. */
  #lengths = new Float64Array(1024).fill(-1);
  /** Number of requests for each object. */
  #counts = new Uint32Array(1024);
  #hasTimes = false;
  #hasClients = false;
  #outOfOrder = 0;
  #startMs = 0;
  /** Requests of the current time stamp, as object and client in turn. */
  #group: number[] = [];
  #groupMs = 0;

  /** `mostNames` is for tests. */
  constructor({ mostNames }: { mostNames?: number } = {}) {
    this.#objects = new NameNumbers('objects', mostNames);
    this.#clients = new NameNumbers('clients', mostNames);
  }

  add({ timeMs, client, object, bytes }: TraceLine): void {
    const number = this.#objects.numberOf(object);
    this.#count(number, bytes);
    if (client !== null) this.#hasClients = true;
    const clientNumber = client === null ? 0 : this.#clients.numberOf(client);
    if (timeMs === null) this.#append(this.#requests, number, clientNumber);
    else this.#addTimed(timeMs, number, clientNumber);
    this.#requests++;
  }

  /** Ends the recording. The caller closes the trace. */
  finish(): RecordedTrace {
    this.#endGroup(Number.POSITIVE_INFINITY);
    if (this.#inChunk > 0) this.#spool.add(this.#chunk.words.subarray(0, this.#inChunk * RECORD_WORDS));
    const objects = this.#objects.count;
    const told = this.#lengths.subarray(0, objects).filter((length) => length >= 0);
    const average =
      told.length === 0
        ? DEFAULT_OBJECT_BYTES
        : Math.round(told.reduce((sum, length) => sum + length, 0) / told.length);
    return new RecordedTrace({
      spool: this.#spool,
      requests: this.#requests,
      lengths: this.#lengths.slice(0, objects).map((length) => (length < 0 ? average : length)),
      counts: this.#counts.slice(0, objects),
      objectsWithoutLength: objects - told.length,
      clients: this.#hasClients ? this.#clients.count : 0,
      hasTimes: this.#hasTimes,
      outOfOrder: this.#outOfOrder,
    });
  }

  /** Frees the temporary file of a recording that is given up. */
  close(): void {
    this.#spool.close();
  }

  #count(object: number, bytes: number | null): void {
    if (object >= this.#counts.length) {
      const [lengths, counts] = [this.#lengths, this.#counts];
      this.#lengths = new Float64Array(2 * lengths.length).fill(-1);
      this.#lengths.set(lengths);
      this.#counts = new Uint32Array(2 * counts.length);
      this.#counts.set(counts);
    }
    this.#counts[object]++;
    if (bytes !== null && bytes > this.#lengths[object]) this.#lengths[object] = bytes;
  }

  #addTimed(timeMs: number, object: number, client: number): void {
    if (!this.#hasTimes) {
      this.#hasTimes = true;
      this.#startMs = timeMs;
      this.#groupMs = timeMs;
    }
    if (timeMs < this.#groupMs - TOLERANCE_MS) this.#outOfOrder++;
    else if (timeMs > this.#groupMs) {
      this.#endGroup(timeMs);
      this.#groupMs = timeMs;
    }
    this.#group.push(object, client);
  }

  /** Spreads the requests of the current time stamp over the time until the next one. */
  #endGroup(nextMs: number): void {
    const size = this.#group.length / 2;
    const resolutionMs = this.#groupMs % SECOND_MS === 0 ? SECOND_MS : 1;
    const span = Math.min(resolutionMs, nextMs - this.#groupMs);
    for (let i = 0; i < size; i++) {
      const timeMs = this.#groupMs - this.#startMs + (span * i) / size;
      this.#append(timeMs, this.#group[2 * i], this.#group[2 * i + 1]);
    }
    this.#group = [];
  }

  #append(time: number, object: number, client: number): void {
    if (this.#inChunk === CHUNK_RECORDS) {
      this.#spool.add(this.#chunk.words);
      this.#chunk = recordViews(new Int32Array(CHUNK_RECORDS * RECORD_WORDS));
      this.#inChunk = 0;
    }
    const at = this.#inChunk++;
    this.#chunk.times[2 * at] = time;
    this.#chunk.words[4 * at + 2] = object;
    this.#chunk.words[4 * at + 3] = client;
  }
}
