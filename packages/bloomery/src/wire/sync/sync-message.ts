/**
 * The messages between a publisher and the subscribers of its summary, as a pure conversion between
 * bytes and data. publisher.ts and subscriber.ts implement their effects; docs/spec/sync.md
 * specifies them for other languages.
 *
 *     0   4  magic 'BLMS' (42 4C 4D 53)
 *     4   1  version: 1, or 2 in a session about a set of positions
 *     5   1  type: 1 full, 2 delta, 3 heartbeat, 4 request; with bit 7 set it is the answer to a request
 *     6   8  publisher
 *     14  …  body
 *         4  checksum of the bytes before, as in a frame
 *
 *     full, delta, heartbeat:   epoch (8), sequence, sum (8), question (4, only in an answer), then
 *       full:                   the summary as a frame, coded (compressed-frame.ts) or plain
 *       delta:                  how many generations it goes back, the changes
 *                               (snapshot-changes.ts)
 *     version 2:                full: a set, and delta: its changes, as in wire/sets/set-code.ts
 *     request:                  flags (1), epoch, sequence and sum of the held generation (flag 1),
 *                               epoch and sequence of the latest generation heard of (flag 2)
 *
 * Integers are little-endian; sequence numbers are LEB128. For sequence numbers below 128 a
 * heartbeat has 35 bytes, and a delta has 36 plus its code.
 *
 * The sum is the 64-bit `frameSum` of the plain frame. It identifies the contents: if two sides
 * name the same generation and mean different bits, the sums differ, except once in 2^64. 32 bits
 * would be enough against accidents in transit, for which there is the checksum. But the sum also
 * detects a publisher that began to count again, and a fleet that compares a million summaries per
 * day must not be wrong within a human's life: 32 bits fail once in 12 years, 64 bits once in 50
 * billion. That is worth four bytes in a message of a hundred. A delta has no sum of its base:
 * applied to another base it leads to another sum.
 *
 * The question of an answer is the checksum of the request; follower.ts explains its use.
 *
 * Versions. All messages of a session have the same version, requests included. A reader of the
 * other version refuses them with the code 'version' and asks for nothing, because the same would
 * come again. In version 2 the sum is that of a `PositionSum`.
 */

import {
  CHECKSUM,
  checkChecksum,
  checkEnvelope,
  decoding,
  refuse,
  SYNC_MAGIC,
  VERSION,
  writeChecksum,
} from '../../frames/envelope.ts';
import { checkChoice, checkInteger, wrongValue } from '../../math/checks.ts';
import { ByteReader, ByteWriter } from '../coding/byte-stream.ts';

/** The name of a generation. Names are ordered by epoch, then by sequence number. */
export interface GenerationName {
  /** An unsigned 64-bit integer. No state of an earlier epoch is of use in a later one. */
  readonly epoch: bigint;
  /** Counts the generations of an epoch, from 0 on. */
  readonly sequence: number;
}

/** One closed state of a publisher's set. */
export interface Generation extends GenerationName {
  /** The `frameSum` of its plain frame, or the sum of its positions. */
  readonly sum: bigint;
}

interface Told {
  readonly publisherId: bigint;
  /** The generation that the message is about: for a delta, the one that it leads to. */
  readonly generation: Generation;
  /** The question that it answers, or undefined if it was sent without a request. */
  readonly question: number | undefined;
}

export interface FullMessage extends Told {
  readonly type: 'full';
  /** The frame of the summary, or in version 2 the code of the set. */
  readonly frame: Uint8Array;
}

export interface DeltaMessage extends Told {
  readonly type: 'delta';
  /** The sequence number that the delta starts from, in the same epoch. */
  readonly base: number;
  readonly code: Uint8Array;
}

export interface HeartbeatMessage extends Told {
  readonly type: 'heartbeat';
}

export interface RequestMessage {
  readonly type: 'request';
  readonly publisherId: bigint;
  readonly held: Generation | undefined;
  /** Present if it differs from the held generation. */
  readonly heard: GenerationName | undefined;
}

export type PublisherMessage = FullMessage | DeltaMessage | HeartbeatMessage;
export type SyncMessage = PublisherMessage | RequestMessage;

/** 1: the summary is a frame. 2: it is a set of positions. */
export type SyncVersion = 1 | 2;

/** The fields before the body. */
export interface SyncHead {
  readonly type: SyncMessage['type'];
  readonly isAnswer: boolean;
  readonly publisherId: bigint;
}

/** Writes a message. Throws if `readSyncMessage` would not return the same message. */
export function writeSyncMessage(
  message: SyncMessage,
  version: SyncVersion = VERSION,
): Uint8Array<ArrayBuffer> {
  checkMessage(message);
  const writer = new ByteWriter();
  const isAnswer = message.type !== 'request' && message.question !== undefined;
  for (const byte of [...SYNC_MAGIC, version]) writer.byte(byte);
  writer.byte((TYPES.indexOf(message.type) + 1) | (isAnswer ? ANSWER : 0));
  writeFixed(writer, message.publisherId, 8);
  if (message.type === 'request') {
    const { held, heard } = message;
    writer.byte((held === undefined ? 0 : HOLDS) | (heard === undefined ? 0 : HEARD));
    if (held !== undefined) writeGeneration(writer, held);
    if (heard !== undefined) writeName(writer, heard);
  } else {
    writeGeneration(writer, message.generation);
    if (message.question !== undefined) writeFixed(writer, BigInt(message.question), 4);
    if (message.type === 'full') writer.bytes(message.frame);
    if (message.type === 'delta') {
      writer.number(message.generation.sequence - message.base);
      writer.bytes(message.code);
    }
  }
  writer.bytes(new Uint8Array(CHECKSUM));
  const bytes = writer.finish();
  writeChecksum(bytes);
  return bytes;
}

/**
 * Reads a message. Throws a `FrameError` if it is invalid. Frames and codes are views of `bytes`
 * and are not checked.
 */
export function readSyncMessage(bytes: Uint8Array, version: SyncVersion = VERSION): SyncMessage {
  const head = readSyncHead(bytes, version);
  checkSyncChecksum(bytes);
  return readSyncBody(head, bytes);
}

/** @internal Reads the fields after the head. The caller has verified the checksum. */
export function readSyncBody(head: SyncHead, bytes: Uint8Array): SyncMessage {
  return decoding(WHAT, () => (head.type === 'request' ? readRequest(head, bytes) : readTold(head, bytes)));
}

/** @internal Throws if a message was damaged. */
export function checkSyncChecksum(bytes: Uint8Array): void {
  decoding(WHAT, () => checkChecksum(bytes));
}

/**
 * Reads the fields before the body. Of the rest, it checks only that a body and a checksum can
 * follow.
 */
export function readSyncHead(bytes: Uint8Array, version: SyncVersion = VERSION): SyncHead {
  return decoding(WHAT, () => {
    checkEnvelope(SYNC_MAGIC, bytes, HEAD + 1 + CHECKSUM, version);
    const number = bytes[TYPE];
    const type = TYPES[(number & ~ANSWER) - 1];
    const isAnswer = (number & ANSWER) !== 0;
    if (type === undefined || (isAnswer && type === 'request'))
      refuse('structure', TYPE, 'a type of message', number);
    // Requests are untrusted input: a long one is refused before it is hashed.
    if (type === 'request' && bytes.length > LONGEST_REQUEST)
      refuse('trailing', LONGEST_REQUEST, `a request of at most ${LONGEST_REQUEST} bytes`, bytes.length);
    return { type, isAnswer, publisherId: readFixed(bytes.subarray(TYPE + 1, HEAD)) };
  });
}

/** The identifier of a request in its answer: the request's checksum. */
export function questionOf(request: Uint8Array): number {
  const at = request.length - CHECKSUM;
  return (request[at] | (request[at + 1] << 8) | (request[at + 2] << 16) | (request[at + 3] << 24)) >>> 0;
}

/** Negative if `a` is earlier, 0 if both have the same name, otherwise positive. */
export function compareGenerations(a: GenerationName, b: GenerationName): number {
  if (a.epoch !== b.epoch) return a.epoch < b.epoch ? -1 : 1;
  return a.sequence - b.sequence;
}

/** Returns an unsigned 64-bit integer, such as a publisher's id, as a bigint. */
export function checkUnsigned64(name: string, value: number | bigint): bigint {
  if (!(typeof value === 'bigint' || Number.isSafeInteger(value)) || value < 0 || value >= 2n ** 64n) {
    throw wrongValue(name, 'an integer from 0 to 2^64 - 1', value);
  }
  return BigInt(value);
}

/** The name of the decoded bytes in error messages. */
const WHAT = 'sync message';
/** The offset of the type. */
const TYPE = 5;
const HEAD = 14;
const TYPES = ['full', 'delta', 'heartbeat', 'request'] as const;
const ANSWER = 128;
const HOLDS = 1;
const HEARD = 2;
/** Head, flags, two names, a sum and the checksum. A sequence number takes up to 8 bytes. */
const LONGEST_REQUEST = HEAD + 1 + 2 * (8 + 8) + 8 + CHECKSUM;

function checkMessage(message: SyncMessage): void {
  checkChoice('type', message.type, TYPES);
  checkBigint('publisherId', message.publisherId);
  if (message.type === 'request') {
    if (message.held !== undefined) checkGeneration(message.held);
    if (message.heard !== undefined) checkName(message.heard);
    return;
  }
  checkGeneration(message.generation);
  if (message.question !== undefined) checkInteger('question', message.question, 0, 2 ** 32 - 1);
  // A delta needs an earlier generation to start from.
  if (message.type === 'delta') checkInteger('base', message.base, 0, message.generation.sequence - 1);
}

function checkGeneration(generation: Generation): void {
  checkName(generation);
  checkBigint('sum', generation.sum);
}

function checkName({ epoch, sequence }: GenerationName): void {
  checkBigint('epoch', epoch);
  checkInteger('sequence', sequence);
}

function checkBigint(name: string, value: bigint): void {
  if (typeof value !== 'bigint') {
    throw new TypeError(`Cannot use ${name}: expected a bigint, got ${typeof value}`);
  }
  checkUnsigned64(name, value);
}

function readTold({ type, isAnswer, publisherId }: SyncHead, bytes: Uint8Array): SyncMessage {
  const reader = bodyOf(bytes);
  const generation = readGeneration(reader);
  const question = isAnswer ? Number(readFixed(reader.bytes(4, 'a question'))) : undefined;
  const told = { publisherId, generation, question };
  if (type === 'full') return { type, ...told, frame: reader.bytes(reader.left, 'a frame') };
  if (type === 'delta') {
    const back = reader.number('generations back', generation.sequence);
    if (back === 0) reader.fail('payload', 'expected a delta from an earlier generation, got 0 back');
    return {
      type,
      ...told,
      base: generation.sequence - back,
      code: reader.bytes(reader.left, 'changes'),
    };
  }
  reader.end();
  return { type: 'heartbeat', ...told };
}

function readRequest({ publisherId }: SyncHead, bytes: Uint8Array): RequestMessage {
  const reader = bodyOf(bytes);
  const flags = reader.byte('flags');
  if (flags > (HOLDS | HEARD)) reader.fail('payload', `expected flags below 4, got ${flags}`);
  const held = flags & HOLDS ? readGeneration(reader) : undefined;
  const heard = flags & HEARD ? readName(reader) : undefined;
  reader.end();
  return { type: 'request', publisherId, held, heard };
}

function bodyOf(bytes: Uint8Array): ByteReader {
  return new ByteReader(bytes.subarray(HEAD, -CHECKSUM), HEAD);
}

function writeGeneration(writer: ByteWriter, generation: Generation): void {
  writeName(writer, generation);
  writeFixed(writer, generation.sum, 8);
}

function readGeneration(reader: ByteReader): Generation {
  const name = readName(reader);
  return { ...name, sum: readFixed(reader.bytes(8, 'a sum')) };
}

function writeName(writer: ByteWriter, { epoch, sequence }: GenerationName): void {
  writeFixed(writer, epoch, 8);
  writer.number(sequence);
}

function readName(reader: ByteReader): GenerationName {
  const epoch = readFixed(reader.bytes(8, 'an epoch'));
  return { epoch, sequence: reader.number('a sequence number') };
}

function writeFixed(writer: ByteWriter, value: bigint, width: number): void {
  for (let i = 0, rest = value; i < width; i++, rest >>= 8n) writer.byte(Number(rest & 255n));
}

function readFixed(bytes: Uint8Array): bigint {
  let value = 0n;
  for (let i = bytes.length - 1; i >= 0; i--) value = (value << 8n) | BigInt(bytes[i]);
  return value;
}
