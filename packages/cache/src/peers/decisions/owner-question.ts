/**
 * The bytes of a question to the owner of a key, and of its answer. The owner keeps, for each key,
 * the nodes that are receiving the object (`owner-tracker.ts`).
 *
 * ```
 * question: version (1) · kind · key hash, 8 bytes, little-endian · name of the lost source (kind 3)
 * kind:     1 want · 2 done · 3 lost · 4 unshareable · 5 left
 * answer:   version (1) · kind · name of the node to ask (kind 2)
 * kind:     1 fetch · 2 ask · 3 noted
 * ```
 *
 * The key is its 64-bit hash under the fleet's secret, never the URL: the owner need not have seen
 * the object, and its logs must not name what other nodes ask for. A name has 1 to 255 bytes of
 * UTF-8. The transport says who asks and authenticates it, so the asker is not in the message. A
 * reader refuses every message that differs from this in one bit or in its length, and treats it as
 * no message: the asker goes to the origin, as after a lost answer.
 */

/** The halves of a 64-bit hash, as unsigned numbers. */
export interface HashHalves {
  readonly low: number;
  readonly high: number;
}

export type OwnerQuestion =
  /** This node misses the object and its flight has begun. */
  | { readonly kind: 'want'; readonly hash: HashHalves }
  /** This node has the whole object and serves it from its store. */
  | { readonly kind: 'done'; readonly hash: HashHalves }
  /** The source that the owner named refused, failed or stalled. */
  | { readonly kind: 'lost'; readonly hash: HashHalves; readonly source: string }
  /** The head came, and the response may not be shared: each node fetches for itself. */
  | { readonly kind: 'unshareable'; readonly hash: HashHalves }
  /** This node no longer receives the object, and does not have it. */
  | { readonly kind: 'left'; readonly hash: HashHalves };

export type OwnerAnswer =
  | { readonly kind: 'fetch' }
  | { readonly kind: 'ask'; readonly node: string }
  | { readonly kind: 'noted' };

const VERSION = 1;
const QUESTION_KINDS = ['want', 'done', 'lost', 'unshareable', 'left'] as const;
const ANSWER_KINDS = ['fetch', 'ask', 'noted'] as const;
const QUESTION_HEAD = 10;
const ANSWER_HEAD = 2;
const MOST_NAME_BYTES = 255;

export function encodeQuestion(question: OwnerQuestion): Uint8Array {
  const name = question.kind === 'lost' ? nameBytes(question.source) : NOTHING;
  const { bytes, view } = message(QUESTION_KINDS.indexOf(question.kind) + 1, QUESTION_HEAD, name);
  view.setUint32(2, question.hash.low, true);
  view.setUint32(6, question.hash.high, true);
  return bytes;
}

/** The question, or null if the bytes are not one. */
export function decodeQuestion(bytes: Uint8Array): OwnerQuestion | null {
  if (bytes.length < QUESTION_HEAD || bytes[0] !== VERSION) return null;
  const kind = QUESTION_KINDS[bytes[1]! - 1];
  const view = viewOf(bytes);
  const hash = { low: view.getUint32(2, true), high: view.getUint32(6, true) };
  if (kind === 'lost') {
    const source = nameFrom(bytes.subarray(QUESTION_HEAD));
    return source === null ? null : { kind, hash, source };
  }
  return kind === undefined || bytes.length > QUESTION_HEAD ? null : { kind, hash };
}

export function encodeAnswer(answer: OwnerAnswer): Uint8Array {
  const kind = ANSWER_KINDS.indexOf(answer.kind) + 1;
  const name = answer.kind === 'ask' ? nameBytes(answer.node) : NOTHING;
  return message(kind, ANSWER_HEAD, name).bytes;
}

/** The answer, or null if the bytes are not one. */
export function decodeAnswer(bytes: Uint8Array): OwnerAnswer | null {
  if (bytes.length < ANSWER_HEAD || bytes[0] !== VERSION) return null;
  const kind = ANSWER_KINDS[bytes[1]! - 1];
  if (kind === 'ask') {
    const node = nameFrom(bytes.subarray(ANSWER_HEAD));
    return node === null ? null : { kind, node };
  }
  return kind === undefined || bytes.length > ANSWER_HEAD ? null : { kind };
}

const NOTHING = new Uint8Array(0);

function message(kind: number, head: number, name: Uint8Array): { bytes: Uint8Array; view: DataView } {
  const bytes = new Uint8Array(head + name.length);
  bytes[0] = VERSION;
  bytes[1] = kind;
  bytes.set(name, head);
  return { bytes, view: viewOf(bytes) };
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function nameBytes(name: string): Uint8Array {
  const bytes = new TextEncoder().encode(name);
  if (bytes.length === 0 || bytes.length > MOST_NAME_BYTES) {
    throw new RangeError(`Cannot write the name of a node: expected 1 to 255 bytes, got ${bytes.length}`);
  }
  return bytes;
}

function nameFrom(bytes: Uint8Array): string | null {
  if (bytes.length === 0 || bytes.length > MOST_NAME_BYTES) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
