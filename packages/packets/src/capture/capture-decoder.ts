/**
 * Packets from the bytes of a capture, chunk by chunk: pcap and pcapng, told apart by their first
 * bytes and never by a file's name.
 *
 * How the reading is built. Bytes come in chunks of any size. `push` takes one, `next` fills a
 * `PacketBatch` (columns of typed arrays that lie in the chunk itself), and a `HeaderDecoder` turns
 * the batch into a `HeaderBatch` (flow keys as 32-bit words, lengths and marks). No object is
 * made per packet and no packet is copied, except the one that lies across two chunks: it is
 * gathered in memory of its own and delivered as a batch of one. `readBatches` runs this over any
 * source of bytes, and `readCapture` turns it into objects for scripts.
 *
 * What it promises. Each whole packet is delivered once, in the order of the file, whatever the
 * sizes of the chunks are. `next` delivers the packets at hand and does not wait for a full batch,
 * so packets from a quiet pipe arrive at once. Memory is bounded: the batch, the caller's chunk,
 * and one gathered record of at most 16 MiB, which grows with the bytes that really came. All
 * faults of the input are `CaptureError`s, thrown after the packets before the fault.
 *
 * What was refused: an object per packet as the only interface, which costs 25 times the CPU
 * (`bench/packets/capture.mjs`: 15.3 against 0.6 million packets per CPU second), and copying every
 * chunk into one slab, which would save the batches of one but costs a pass over all bytes. Where
 * it breaks down: pcap has no marks to find the next record after damage, so reading ends at the
 * first damaged record.
 */

import { CAPTURE, CaptureError } from './capture-error.ts';
import type { PacketBatch } from './packet-batch.ts';
import { isPcapMagic, PCAP_HEAD_BYTES, PcapFormat } from './records/pcap-format.ts';
import { PCAPNG_MAGIC, PcapngFormat } from './records/pcapng-format.ts';
import type { RecordFormat } from './records/record-format.ts';

const NO_BYTES = new Uint8Array(0);
const NO_VIEW = new DataView(NO_BYTES.buffer);

export class CaptureDecoder {
  #format: RecordFormat | null = null;
  #chunk: Uint8Array = NO_BYTES;
  #view: DataView = NO_VIEW;
  #at = 0;
  /** Position of the chunk's first byte in the input. */
  #base = 0;
  /** Bytes of the next chunks that belong to a record that is not read. */
  #skip = 0;
  /** The beginning of a record that lies across two chunks. */
  #gathered: Uint8Array = NO_BYTES;
  #gatheredView: DataView = NO_VIEW;
  #gatheredBytes = 0;
  #packets = 0;

  /** Packets that were delivered so far. */
  get packets(): number {
    return this.#packets;
  }

  /** Takes the next chunk. The chunk before it must be used up: `next` returned false. */
  push(chunk: Uint8Array): void {
    if (this.#at < this.#chunk.length) {
      throw new RangeError(
        `Cannot push a chunk: expected the last one to be used up, got ${this.#chunk.length - this.#at} bytes left`,
      );
    }
    this.#base += this.#chunk.length;
    this.#chunk = chunk;
    this.#view = new DataView(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    this.#at = 0;
  }

  /**
   * Fills the batch with packets that are at hand. False if there is none, and another chunk is
   * needed.
   */
  next(batch: PacketBatch): boolean {
    batch.count = 0;
    while (true) {
      this.#passSkipped();
      if (this.#at >= this.#chunk.length) return false;
      if (this.#format === null) {
        if (!this.#readHead()) return false;
      } else if (this.#gatheredBytes > 0) {
        if (!this.#walkGathered(this.#format, batch)) return false;
      } else {
        this.#walkChunk(this.#format, batch);
      }
      if (batch.count > 0) {
        this.#packets += batch.count;
        return true;
      }
    }
  }

  /** Ends the input. Throws a `CaptureError` if it ends in the middle of a record. */
  end(): void {
    const position = this.#base + this.#chunk.length;
    if (this.#format === null) {
      const code = this.#gatheredBytes > 0 ? 'truncated' : 'not-a-capture';
      throw new CaptureError(code, CAPTURE, `expected the head of a file, got ${position} bytes`, position);
    }
    if (this.#gatheredBytes === 0 && this.#skip === 0) return;
    const reason = `expected the rest of a record, got the end after ${this.#packets} whole packets`;
    throw new CaptureError('truncated', CAPTURE, reason, position);
  }

  #passSkipped(): void {
    if (this.#skip === 0) return;
    const passed = Math.min(this.#skip, this.#chunk.length - this.#at);
    this.#at += passed;
    this.#skip -= passed;
  }

  /** Reads the head of the file. False if it is not complete. */
  #readHead(): boolean {
    if (!this.#gather(4)) return false;
    const magic = this.#gatheredView.getUint32(0);
    if (magic === PCAPNG_MAGIC) {
      // The head is a block like any other, so the gathered bytes stay.
      this.#format = new PcapngFormat();
      return true;
    }
    if (!isPcapMagic(magic)) throw foreignMagic(magic);
    if (!this.#gather(PCAP_HEAD_BYTES)) return false;
    this.#format = new PcapFormat(this.#gatheredView);
    this.#gatheredBytes = 0;
    return true;
  }

  #walkChunk(format: RecordFormat, batch: PacketBatch): void {
    const end = this.#chunk.length;
    batch.bytes = this.#chunk;
    batch.view = this.#view;
    const at = format.walk(this.#view, this.#at, end, batch, this.#base);
    const isStuck = at === this.#at && batch.count === 0;
    this.#moveTo(at, end);
    if (isStuck) this.#gather(end - at);
  }

  #moveTo(at: number, end: number): void {
    this.#at = Math.min(at, end);
    this.#skip = Math.max(at - end, 0);
  }

  /** Completes the record that lies across chunks, and reads it. False if bytes are lacking. */
  #walkGathered(format: RecordFormat, batch: PacketBatch): boolean {
    while (true) {
      const needed = format.need(this.#gatheredView, 0, this.#gatheredBytes);
      if (needed <= this.#gatheredBytes) break;
      if (!this.#gather(needed)) return false;
    }
    const start = this.#base + this.#at - this.#gatheredBytes;
    batch.bytes = this.#gathered;
    batch.view = this.#gatheredView;
    const at = format.walk(this.#gatheredView, 0, this.#gatheredBytes, batch, start);
    this.#skip = at - this.#gatheredBytes;
    this.#gatheredBytes = 0;
    return true;
  }

  /** Gathers bytes until there are `length` of them. False if the chunk has too few. */
  #gather(length: number): boolean {
    const lacking = Math.max(0, length - this.#gatheredBytes);
    const taken = Math.min(lacking, this.#chunk.length - this.#at);
    const total = this.#gatheredBytes + taken;
    if (total > this.#gathered.length) {
      const grown = new Uint8Array(Math.max(4096, 2 ** Math.ceil(Math.log2(total))));
      grown.set(this.#gathered.subarray(0, this.#gatheredBytes));
      this.#gathered = grown;
      this.#gatheredView = new DataView(grown.buffer);
    }
    this.#gathered.set(this.#chunk.subarray(this.#at, this.#at + taken), this.#gatheredBytes);
    this.#gatheredBytes = total;
    this.#at += taken;
    return taken === lacking;
  }
}

/** The error for first bytes that no capture has. */
function foreignMagic(magic: number): CaptureError {
  const packing = packingOf(magic);
  const got = packing ?? `0x${magic.toString(16).padStart(8, '0')}`;
  const reason = `expected the first bytes of pcap or pcapng, got ${got}`;
  return new CaptureError(packing === null ? 'not-a-capture' : 'packed', CAPTURE, reason, 0);
}

/** The packing that the first four bytes show, or null. */
function packingOf(magic: number): string | null {
  if (magic >>> 16 === 0x1f8b) return 'gzip';
  if (magic === 0x28b52ffd || (magic >>> 0 >= 0x502a4d18 && (magic & 0xf0ffffff) === 0x502a4d18))
    return 'zstd';
  if (magic === 0xfd377a58) return 'xz';
  return magic >>> 8 === 0x425a68 ? 'bzip2' : null;
}
