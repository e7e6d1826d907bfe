/**
 * The port between the decoder, which knows chunks, and a file format, which knows records.
 *
 * A format sees a stretch of bytes that may end anywhere. `walk` reads whole records from it and
 * `need` tells how many bytes the next record takes, so that the decoder can gather a record that
 * lies across two chunks.
 */

import type { PacketBatch } from '../packet-batch.ts';

/**
 * Longest packet that is accepted, in bytes: libpcap's own limit. A longer one is damage in nearly
 * every capture (the exceptions are USB and D-Bus captures, which have no IP packets).
 */
export const MAX_PACKET_BYTES = 262_144;

/** Longest record that is read, in bytes, and so the most that is gathered from several chunks. */
export const MAX_RECORD_BYTES = 1 << 24;

export interface RecordFormat {
  /**
   * Bytes that the record at `at` takes, as far as the bytes up to `end` tell: at first those of
   * its head. The result is at most `MAX_RECORD_BYTES`.
   */
  need(view: DataView, at: number, end: number): number;

  /**
   * Appends the packets of whole records from `at` on to the batch, whose memory is that of the
   * view, and returns the position after the last record. It stops at a full batch and before a
   * record that `end` cuts. The position lies beyond `end` if the bytes up to it are to be skipped.
   *
   * A damaged record throws a `CaptureError` if the batch is empty; otherwise `walk` stops before
   * it, so that the packets before the damage are delivered first. `base` is the position of the
   * view's first byte in the input, for messages.
   */
  walk(view: DataView, at: number, end: number, batch: PacketBatch, base: number): number;
}
