/**
 * The keys of the near side in memory, each once, with the values of the near columns that the
 * answer asks for. They make the answer exact: a far row that passes the filter and has no partner
 * here is a false positive.
 */

import type { KeyType } from './join-key.ts';
import { arrayLiteral, keyText, literalBytes } from './join-key.ts';
import type { Fields, JoinSide, ReadOptions, Row } from './join-side.ts';
import { PushdownFilter } from './pushdown-filter.ts';

const NONE: readonly Row[] = [[]];

export class NearKeys {
  readonly types: readonly KeyType[];
  /** Rows that have a key without NULL. */
  rows = 0;
  /** Bytes of all distinct keys as `arrays` gives them. */
  keyBytes = 0;
  readonly #partners = new Map<string, readonly Row[]>();
  /** The columns of the distinct keys; a single column is its own key text. */
  readonly #parts: string[][] = [];

  private constructor(types: readonly KeyType[]) {
    this.types = types;
  }

  /** Reads the near side. `columns` are the places of the values to keep. */
  static async read(
    side: JoinSide,
    fields: Fields,
    { columns = [], signal, onRows }: ReadOptions & { columns?: readonly number[]; onRows?: OnRows },
  ): Promise<NearKeys> {
    const near = new NearKeys(fields.types);
    for await (const batch of side.read(fields, { signal })) {
      for (const row of batch) near.#take(fields, row, columns);
      onRows?.(batch.length);
    }
    return near;
  }

  get size(): number {
    return this.#parts.length;
  }

  /** The near rows of a key, as the values that were kept, or undefined. */
  partners(key: string): readonly Row[] | undefined {
    return this.#partners.get(key);
  }

  /** The distinct keys as an array of PostgreSQL for each column. */
  arrays(): string[] {
    return this.types.map((type, i) =>
      arrayLiteral(
        type,
        this.#parts.map((parts) => parts[i]),
      ),
    );
  }

  *keys(): Iterable<string> {
    yield* this.#partners.keys();
  }

  filter({ bitsLog2, hashes }: { bitsLog2: number; hashes: number }): PushdownFilter {
    const filter = new PushdownFilter({ types: this.types, bitsLog2, hashes });
    for (const parts of this.#parts) filter.add(parts);
    return filter;
  }

  #take(fields: Fields, row: Row, columns: readonly number[]): void {
    const parts = fields.keys.map((place) => row[place]);
    const key = keyText(parts);
    if (key === null) return;
    this.rows++;
    const known = this.#partners.get(key);
    if (known === undefined) {
      this.#parts.push(parts as string[]);
      for (const [i, part] of parts.entries()) this.keyBytes += literalBytes(this.types[i], part!);
      this.#partners.set(key, columns.length === 0 ? NONE : [columns.map((place) => row[place])]);
    } else if (columns.length > 0) (known as Row[]).push(columns.map((place) => row[place]));
  }
}

/** Told of rows as they are read. */
export type OnRows = (rows: number) => void;
