/** The interface of the two twins that digest a batch of packets. */

import type { HeaderBatch } from '../../capture/headers/header-batch.ts';
import type { PacketBatch } from '../../capture/packet-batch.ts';

/** Digests of a batch. The arrays are overwritten by the next batch. */
export interface PacketDigests64 {
  /** Packets with a digest. */
  readonly count: number;
  /** Lower and upper half of each digest in turn. */
  readonly words: Int32Array;
  /** The row of each digest in the batch, rising. */
  readonly rows: Uint32Array;
  /** Time of each digest, in seconds since 1970. */
  readonly times: Float64Array;
  /** Decoded packets without a digest, because the capture cut them. */
  readonly cut: number;
  /** Digests of sources that were not noted in the half second before, and their times. */
  readonly sourceWords: Int32Array;
  readonly sourceTimes: Float64Array;
}

/**
 * Seconds for which a source is not noted again. A link has far fewer sources than packets, so most
 * packets cost no entry. The time of a source can be wrong by this much, and a question widens its
 * window by as much.
 */
export const SOURCE_SLACK_S = 0.5;

export interface DigestKernel {
  /** Digests rows `from` to before `to`, at most 4096 of them, and their sources if asked for. */
  digest(
    batch: PacketBatch,
    headers: HeaderBatch,
    from: number,
    to: number,
    withSources: boolean,
  ): PacketDigests64;
}
