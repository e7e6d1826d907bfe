/**
 * The records of a layer whose base and whose changes are elsewhere: a machine at the edge that
 * holds nothing but the filter. An unchanged record costs one round trip instead of two, except at
 * the rate of the filter's false positives.
 *
 * The filter is as old as its last fetch, so a change since then is not seen. `replaceFilter` puts
 * a newer one in place.
 */

import type { Abortable, Base, Change } from './base.ts';

export interface RemoteChanges<V> {
  /** The change of a key, or undefined if it was not changed. */
  get(key: string, options?: Abortable): Promise<Change<V> | undefined> | Change<V> | undefined;
}

/** The part of a filter that a view uses. */
export interface ChangeFilter {
  has(key: string): boolean;
}

export interface LayerViewOptions<V> {
  readonly base: Pick<Base<V>, 'get'>;
  readonly changes: RemoteChanges<V>;
  /** The filter of the layer, as `BloomFilter.decode(frame, { key })` makes it. */
  readonly filter: ChangeFilter;
}

export interface LayerView<V> {
  get(key: string, options?: Abortable): Promise<V | undefined>;
  replaceFilter(filter: ChangeFilter): void;
  stats(): {
    readonly reads: number;
    readonly saved: number;
    readonly changed: number;
    readonly wasted: number;
  };
}

export function layerView<V>({ base, changes, filter: first }: LayerViewOptions<V>): LayerView<V> {
  let filter = first;
  const counts = { reads: 0, saved: 0, changed: 0, wasted: 0 };
  return {
    async get(key, options) {
      counts.reads++;
      if (filter.has(key)) {
        const change = await changes.get(key, options);
        if (change !== undefined) {
          counts.changed++;
          return change.deleted === true ? undefined : change.value;
        }
        counts.wasted++;
      } else counts.saved++;
      return base.get(key, options);
    },
    replaceFilter(newer) {
      filter = newer;
    },
    stats: () => ({ ...counts }),
  };
}
