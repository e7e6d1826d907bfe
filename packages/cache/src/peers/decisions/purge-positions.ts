/**
 * The last purge up to which this node is current, for each node of the fleet that ordered purges.
 * It decides what a message of such a node means here.
 *
 * A message is taken if it continues where this node is, or overlaps with it. A message from
 * further on is answered with the position alone, and the other node sends what lies between. After
 * a reset this node cannot know what it missed, so it validates everything that it stored before,
 * unless the journal has dropped nothing yet.
 *
 * A node without a disk has an empty store and no position after a restart. It takes whatever is
 * still kept, which removes nothing.
 */

import type { PurgeMessage, PurgePosition } from './purge-journal.ts';

/** The effect of a message. */
export interface PurgeEffect {
  /** Keys to remove, before the position is confirmed. */
  readonly keys: readonly string[];
  /** Everything that was stored before must be validated. */
  readonly mustValidateAll: boolean;
  /** The position after that, or the present one if the message is not taken. */
  readonly position: PurgePosition;
}

/** Nodes whose position is remembered. More than these are never neighbours at a time. */
const MOST_NODES = 4096;
const NOWHERE: PurgePosition = { epoch: '', sequence: 0 };

export class PurgePositions {
  readonly #positions: Map<string, PurgePosition>;

  constructor(state: Readonly<Record<string, PurgePosition>> = {}) {
    this.#positions = new Map(Object.entries(state));
  }

  get state(): Record<string, PurgePosition> {
    return Object.fromEntries(this.#positions);
  }

  /** The effect of a message. Nothing is changed before `moveTo`. */
  effectOf(from: string, { epoch, after, keys, isReset }: PurgeMessage): PurgeEffect {
    const position = this.#positions.get(from) ?? NOWHERE;
    const isSame = position.epoch === epoch;
    const last = after + keys.length;
    if (isSame && position.sequence >= after) {
      const news = keys.slice(position.sequence - after);
      const sequence = Math.max(position.sequence, last);
      return { keys: news, mustValidateAll: false, position: { epoch, sequence } };
    }
    if (!isReset) return { keys: [], mustValidateAll: false, position };
    return { keys, mustValidateAll: after > 0, position: { epoch, sequence: last } };
  }

  /** The effect has been carried out, and cannot be undone by a crash. */
  moveTo(from: string, position: PurgePosition): void {
    this.#positions.delete(from);
    for (const oldest of this.#positions.keys()) {
      if (this.#positions.size < MOST_NODES) break;
      this.#positions.delete(oldest);
    }
    this.#positions.set(from, position);
  }
}
