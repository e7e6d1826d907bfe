/**
 * The port of a base: the records below the changes. A base is never written to; a merge makes a
 * new one. `{ get }` is enough for reading, so a `Map` is a base, and any lookup can become one.
 */

export interface Abortable {
  readonly signal?: AbortSignal | undefined;
}

/** A record that was set or deleted. */
export type Change<V> =
  | { readonly key: string; readonly value: V; readonly deleted?: false }
  | { readonly key: string; readonly deleted: true };

export interface Base<V> {
  /** The record of a key, or undefined if there is none. */
  get(key: string, options?: Abortable): V | undefined | Promise<V | undefined>;
  /** All records, each once, in any order. Iteration needs it. */
  entries?(options?: Abortable): Iterable<[string, V]> | AsyncIterable<[string, V]>;
  /** The number of records. A merge at a share of the base needs it. */
  count?(options?: Abortable): number | Promise<number>;
  /**
   * A text that is the same whenever this base is opened, and another one for every other base. The
   * log notes it, and refuses to lie over another base.
   */
  identity?(options?: Abortable): string | Promise<string>;
  /** The position up to which the log with this name was merged into this base, if it was. */
  mergedThrough?(log: string, options?: Abortable): number | undefined | Promise<number | undefined>;
  /**
   * Makes a new base with these changes, puts it into the place of this one in a single step that
   * survives a crash, and returns it. This one can still be read until it is closed.
   */
  merge?(changes: AsyncIterable<Change<V>>, options: MergeIntoOptions): Promise<Base<V>>;
  close?(): void | Promise<void>;
}

export interface MergeIntoOptions extends Abortable {
  /** The log and the position that `mergedThrough` of the new base answers. */
  readonly log: string;
  readonly position: number;
}
