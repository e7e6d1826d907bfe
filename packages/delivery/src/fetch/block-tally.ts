/** Counts where the bytes of a fetch came from, and what was wasted. */

import { ORIGIN } from '../decisions/delivery-plan.ts';
import { blockLength } from '../decisions/file-shape.ts';
import type { PartialFile } from '../store/partial-file.ts';
import type { DeliveryReport } from './delivery-report.ts';

export class BlockTally {
  readonly #file: PartialFile;
  readonly #sources = new Map<number, string>();
  #cameBytes = 0;
  #originBytes = 0;
  #peerBytes = 0;
  #resumedBytes = 0;

  constructor(file: PartialFile) {
    this.#file = file;
    this.#resumedBytes = this.#heldBytes();
  }

  /** Bytes of a body came. */
  came(bytes: number): void {
    this.#cameBytes += bytes;
  }

  /** A block was kept. */
  took(source: string, block: number, bytes: number): void {
    this.#sources.set(block, source);
    if (source === ORIGIN) this.#originBytes += bytes;
    else this.#peerBytes += bytes;
  }

  /** The source of a block, or null if it was there from an earlier run. */
  sourceOf(block: number): string | null {
    return this.#sources.get(block) ?? null;
  }

  /** Blocks were dropped: they were wasted. */
  reshaped(): void {
    for (const block of [...this.#sources.keys()])
      if (!this.#file.has.has(block)) this.#sources.delete(block);
    let resumed = 0;
    const { shape } = this.#file;
    if (shape !== null)
      for (const block of this.#file.has) if (!this.#sources.has(block)) resumed += blockLength(shape, block);
    this.#resumedBytes = Math.min(this.#resumedBytes, resumed);
  }

  report(
    peers: readonly string[],
  ): Pick<DeliveryReport, 'resumedBytes' | 'originBytes' | 'peerBytes' | 'wastedBytes' | 'origins'> {
    const places = new Map(peers.map((address, i) => [address, i]));
    const { shape, has } = this.#file;
    const origins = Array.from({ length: shape?.blocks ?? 0 }, (_, block) => {
      if (!has.has(block)) return null;
      const source = this.#sources.get(block);
      if (source === undefined) return 'resumed' as const;
      return source === ORIGIN ? ('origin' as const) : (places.get(source) ?? -1);
    });
    return {
      resumedBytes: this.#resumedBytes,
      originBytes: this.#originBytes,
      peerBytes: this.#peerBytes,
      wastedBytes: Math.max(0, this.#cameBytes - (this.#heldBytes() - this.#resumedBytes)),
      origins,
    };
  }

  #heldBytes(): number {
    const { shape, has } = this.#file;
    if (shape === null || shape.blocks === 0) return 0;
    const last = shape.blocks - 1;
    return has.size * shape.blockBytes - (has.has(last) ? shape.blockBytes - blockLength(shape, last) : 0);
  }
}
