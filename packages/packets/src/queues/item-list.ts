/**
 * Packets in the order of their arrival, with their number and bytes. `Array.shift` moves all
 * others of a long array, so this is a ring that doubles when it is full.
 */

const FIRST_ROOM = 16;

export class ItemList<Item extends { readonly byteLength: number }> {
  #ring: (Item | undefined)[] = new Array(FIRST_ROOM).fill(undefined);
  #head = 0;
  #length = 0;
  #bytes = 0;

  get length(): number {
    return this.#length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(item: Item): void {
    if (this.#length === this.#ring.length) this.#grow();
    this.#ring[(this.#head + this.#length) & (this.#ring.length - 1)] = item;
    this.#length++;
    this.#bytes += item.byteLength;
  }

  /** The first packet, which stays, or null. */
  first(): Item | null {
    return this.#length === 0 ? null : this.#ring[this.#head]!;
  }

  shift(): Item | null {
    if (this.#length === 0) return null;
    const item = this.#ring[this.#head]!;
    this.#ring[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#ring.length - 1);
    this.#length--;
    this.#bytes -= item.byteLength;
    return item;
  }

  #grow(): void {
    const items = Array.from(
      { length: this.#length },
      (_, i) => this.#ring[(this.#head + i) & (this.#ring.length - 1)],
    );
    this.#ring = [...items, ...new Array<undefined>(items.length).fill(undefined)];
    this.#head = 0;
  }
}
