/**
 * Batches of packets from any source of bytes: a file, a pipe, the body of a response.
 *
 * Packets are delivered as soon as their bytes are there, so a quiet pipe does not hold them back.
 * A fault of the input is thrown after all packets before it were delivered; see `CaptureError`.
 */

import { CaptureDecoder } from '../capture-decoder.ts';
import { PacketBatch } from '../packet-batch.ts';

/** Bytes in chunks of any size. Streams of Node and of browsers are such sources. */
export type ByteSource = AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

export interface ReadBatchesOptions {
  /** The batch that is filled again and again; a new one of 4,096 packets by default. */
  readonly batch?: PacketBatch;
  /** Stops reading. */
  readonly signal?: AbortSignal;
}

/**
 * Yields the same batch for as long as there are packets. Its contents are valid until the next one
 * is asked for, and the source may reuse the memory of a chunk then.
 */
export async function* readBatches(
  source: ByteSource,
  { batch = new PacketBatch(), signal }: ReadBatchesOptions = {},
): AsyncGenerator<PacketBatch, void, undefined> {
  const decoder = new CaptureDecoder();
  signal?.throwIfAborted();
  for await (const chunk of source) {
    signal?.throwIfAborted();
    decoder.push(chunk);
    while (decoder.next(batch)) {
      yield batch;
      signal?.throwIfAborted();
    }
  }
  decoder.end();
}
