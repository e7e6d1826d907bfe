/**
 * Reads the digests of other files from metadata that passes by: npm's packuments and Debian's
 * `Packages`. It is a listener: the response goes to its clients and to the store as without it.
 *
 * Only a complete 200 that the origin sent is read, and digests are learnt after its end, so not
 * from a document that was cut off or that has a wrong digest itself. A document speaks for the
 * URLs of its own origin; `metadataOrigins` lists other ones.
 *
 * Bounds, so that a hostile document costs little: 16 MB as it comes, 128 MB decoded, 100,000
 * digests, four documents at a time. A document beyond them is not read, or not to its end, and
 * gives nothing. Decoding runs on the threads of zlib, in pieces of 64 kB, and each is scanned by
 * itself. Learnt digests are entered 2,048 at a time (`bench/cache/digests.mjs`: 4 ms).
 *
 * Where it breaks down: Node has no decoder for xz, so `Packages.xz`, which apt prefers, gives
 * nothing; `Packages.gz` and `Packages` do. The index of pip and that of cargo are not read.
 */

import { type BrotliDecompress, createBrotliDecompress, createGunzip, type Gunzip } from 'node:zlib';
import { originOf, resolvedKey } from '../../policy/cache-key.ts';
import { combinedValue, fieldValue } from '../../policy/fields.ts';
import type { ResponseHead } from '../../policy/message-head.ts';
import type { NamedDigest } from '../../policy/named-digest.ts';
import type { LearntDigests } from './learnt-digests.ts';
import { PackagesScanner } from './packages-scanner.ts';
import { PackumentScanner } from './packument-scanner.ts';

const MOST_BYTES = 16 << 20;
const MOST_DECODED_BYTES = 128 << 20;
const MOST_DIGESTS = 100_000;
const MOST_READERS = 4;
const PIECE_BYTES = 65_536;
const DIGESTS_PER_TURN = 2048;

/** The parts that all readers of a process share. */
export interface MetadataDesk {
  readonly learnt: LearntDigests;
  /** Origins whose files the metadata of an origin may name, in addition to its own. */
  readonly others: ReadonlyMap<string, ReadonlySet<string>>;
  /** Documents that are being read. */
  readers: number;
}

type Kind = 'packument' | 'packages';

/** A reader for a response of the origin, or null if it is no metadata, or is too long. */
export function metadataReader(desk: MetadataDesk, key: string, head: ResponseHead): MetadataReader | null {
  const kind = kindOf(key, head);
  if (kind === null || head.status !== 200 || desk.readers >= MOST_READERS) return null;
  if (Number(fieldValue(head.headers, 'content-length') ?? 0) > MOST_BYTES) return null;
  const codings = (combinedValue(head.headers, 'content-encoding') ?? '').trim().toLowerCase();
  if (!['', 'identity', 'gzip', 'x-gzip', 'br'].includes(codings)) return null;
  return new MetadataReader(desk, key, kind, codings);
}

function kindOf(key: string, { headers }: ResponseHead): Kind | null {
  const path = key.split('?', 1)[0]!;
  if (/\/Packages(?:\.gz)?$/.test(path)) return 'packages';
  if (/\/binary-[a-z0-9-]+\/by-hash\/[A-Za-z0-9]+\/[0-9a-f]+$/.test(path)) return 'packages';
  const type = (fieldValue(headers, 'content-type') ?? '').split(';', 1)[0]!.trim().toLowerCase();
  return type === 'application/vnd.npm.install-v1+json' || type === 'application/json' ? 'packument' : null;
}

export class MetadataReader {
  readonly #desk: MetadataDesk;
  readonly #key: string;
  readonly #origin: string;
  /** The URL from which references are resolved. */
  readonly #base: string;
  readonly #kind: Kind;
  readonly #scanner: PackumentScanner | PackagesScanner;
  readonly #coding: string;
  #decoder: Gunzip | BrotliDecompress | null = null;
  #bytes = 0;
  #decoded = 0;
  #found: [key: string, digest: NamedDigest][] = [];
  #isOver = false;

  constructor(desk: MetadataDesk, key: string, kind: Kind, coding: string) {
    this.#desk = desk;
    this.#key = key;
    this.#kind = kind;
    this.#origin = originOf(key);
    this.#base = kind === 'packages' ? rootOf(key) : key;
    this.#coding = coding;
    const found = (reference: string, digest: NamedDigest) => this.#note(reference, digest);
    this.#scanner = kind === 'packages' ? new PackagesScanner(found) : new PackumentScanner(found);
    desk.readers++;
  }

  add(chunk: Uint8Array): void {
    if (this.#isOver) return;
    if (this.#bytes === 0) this.#decoder = this.#decoderFor(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes > MOST_BYTES) this.drop();
    else if (this.#decoder === null) this.#scan(chunk);
    else this.#decoder.write(chunk);
  }

  /** The document is complete and right. */
  end(): void {
    if (this.#isOver) return;
    if (this.#decoder === null) this.#learn();
    else this.#decoder.end();
  }

  /** The document is not to be used. */
  drop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#desk.readers--;
    this.#found = [];
    this.#decoder?.destroy();
  }

  /** A decoder, if the document has a coding, or is a file of gzip itself. */
  #decoderFor(first: Uint8Array): Gunzip | BrotliDecompress | null {
    const isGzip = this.#kind === 'packages' && first[0] === 0x1f && first[1] === 0x8b;
    if (this.#coding === 'identity' || this.#coding === '') {
      if (!isGzip) return null;
    }
    const options = { chunkSize: PIECE_BYTES };
    const decoder = this.#coding === 'br' ? createBrotliDecompress(options) : createGunzip(options);
    decoder.on('data', (piece: Buffer) => {
      this.#decoded += piece.length;
      if (this.#decoded > MOST_DECODED_BYTES) this.drop();
      else if (!this.#isOver) this.#scan(piece);
    });
    decoder.on('end', () => this.#learn());
    decoder.on('error', () => this.drop());
    return decoder;
  }

  #scan(piece: Uint8Array): void {
    this.#scanner.add(piece);
    if (this.#scanner instanceof PackumentScanner && this.#scanner.isOver) this.drop();
  }

  #note(reference: string, digest: NamedDigest): void {
    const key = resolvedKey(this.#base, reference);
    if (key === null || key === this.#key) return;
    const origin = originOf(key);
    if (origin !== this.#origin && this.#desk.others.get(this.#origin)?.has(origin) !== true) return;
    if (this.#found.length === MOST_DIGESTS) this.drop();
    else if (!this.#isOver) this.#found.push([key, digest]);
  }

  /** Enters the digests, some in each turn of the event loop. */
  #learn(): void {
    if (this.#isOver) return;
    if (this.#scanner instanceof PackagesScanner) this.#scanner.end();
    const { learnt } = this.#desk;
    const found = this.#found;
    this.drop();
    const enter = (from: number): void => {
      for (const [key, digest] of found.slice(from, from + DIGESTS_PER_TURN)) learnt.add(key, digest);
      if (from + DIGESTS_PER_TURN < found.length) setImmediate(enter, from + DIGESTS_PER_TURN);
    };
    enter(0);
  }
}

/**
 * The root of a Debian repository, from which `Filename` counts: the part before `/dists/`, or the
 * folder of the index in a repository without suites.
 */
function rootOf(key: string): string {
  const dists = key.indexOf('/dists/');
  if (dists >= 0) return key.slice(0, dists + 1);
  return key.slice(0, key.split('?', 1)[0]!.lastIndexOf('/') + 1);
}
