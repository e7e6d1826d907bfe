/**
 * The parts of a filter on a Redis Cluster. All keys of one filter lie in one slot, so on one node.
 * A filter of S parts has S names, and the hash of a key chooses the part. The names are searched
 * so that the slot of part i lies near i · 16384 / S: every node with a contiguous range of slots
 * gets its share. Names that only count up do not do that: `{u0}` to `{u15}` put 8, 4 and 4 parts
 * on three nodes.
 */

/** Slots of a Redis Cluster. */
export const SLOTS = 16_384;

/** The slot of a hash tag: CRC16 (XMODEM) modulo 16384, by the specification of the cluster. */
export function slotOf(tag: string): number {
  let crc = 0;
  for (const byte of new TextEncoder().encode(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc % SLOTS;
}

/** The name of part `part` of `parts`: NAME/parts/part/salt, with the first salt that fits. */
export function partName(name: string, part: number, parts: number): string {
  const width = SLOTS / parts;
  // The first quarter of the part's range.
  const first = Math.floor(part * width);
  const room = Math.max(1, Math.floor(width / 4));
  for (let salt = 0; ; salt++) {
    const candidate = `${name}/${parts}/${part}/${salt}`;
    const slot = slotOf(candidate);
    if (slot >= first && slot < first + room) return candidate;
  }
}

/**
 * The part of a hash, given as its halves. The halves are mixed first: the filter of a part uses
 * their upper bits to choose a block, and parts cut by the same bits would fill only some blocks.
 */
export function partOf(low: number, high: number, parts: number): number {
  let mixed = Math.imul(high ^ (high >>> 16), 0x85ebca6b) ^ low;
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x27d4eb2f);
  return Math.floor(((mixed ^ (mixed >>> 15)) >>> 0) * (parts / 2 ** 32));
}

/** Keys that a part is made for: its share and three standard deviations. */
export function partCapacity(capacity: number, parts: number): number {
  const share = capacity / parts;
  return Math.ceil(share + 3 * Math.sqrt(share));
}

/** The hashes of a batch, sorted into the parts, and the place of each in the batch. */
export interface PartBatch {
  readonly words: Int32Array;
  readonly places: Uint32Array;
}

export function splitByPart(words: Int32Array, parts: number): PartBatch[] {
  const counts = new Uint32Array(parts);
  const owners = new Uint16Array(words.length / 2);
  for (let i = 0; i < owners.length; i++) {
    owners[i] = partOf(words[2 * i], words[2 * i + 1], parts);
    counts[owners[i]]++;
  }
  const batches = Array.from(counts, (count) => ({
    words: new Int32Array(2 * count),
    places: new Uint32Array(count),
  }));
  const used = new Uint32Array(parts);
  for (let i = 0; i < owners.length; i++) {
    const at = used[owners[i]]++;
    const batch = batches[owners[i]];
    batch.words[2 * at] = words[2 * i];
    batch.words[2 * at + 1] = words[2 * i + 1];
    batch.places[at] = i;
  }
  return batches;
}
