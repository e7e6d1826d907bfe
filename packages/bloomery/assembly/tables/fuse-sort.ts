// Sorting 64-bit hashes and dropping equal ones. The twin in src/kernel/tables/fuse-build.ts uses
// the sort of typed arrays.
//
// Radix sort from the top: hashes are spread evenly, so one pass of up to 2048 buckets and one of
// 256 leave a handful in each, which insertion sorts. Hashes that are not spread evenly (an
// adversary's) cost a pass for each of their bytes and no more.

const SMALL: u32 = 32;

// Sorts `count` hashes at `from`; `spare` is as long, `counters` has 16 KiB. Returns how many
// different ones there are: they are at `from`, in ascending order.
export function sortDistinct(from: usize, spare: usize, count: u32, counters: usize): u32 {
  if (count == 0) return 0;
  const magnitude: i32 = 32 - clz<i32>(count);
  sort(from, spare, count, 64, max<i32>(1, min<i32>(11, magnitude - 5)), counters, false);
  let last = load<u64>(from);
  let distinct: u32 = 1;
  for (let i: u32 = 1; i < count; i++) {
    const h = load<u64>(from + (<usize>i << 3));
    store<u64>(from + (<usize>distinct << 3), h);
    distinct += <u32>(h != last);
    last = h;
  }
  return distinct;
}

// `left` lower bits are not sorted yet, the next `bits` of them are this call's. The result is at
// `from`, or at `other` on demand.
function sort(from: usize, other: usize, count: u32, left: u32, bits: u32, counters: usize, toOther: bool): void {
  if (count <= SMALL || left == 0) {
    if (left != 0) insert(from, count);
    if (toOther) memory.copy(other, from, <usize>count << 3);
    return;
  }
  const shift: u64 = left - bits;
  const mask: u64 = (1 << bits) - 1;
  memory.fill(counters, 0, 4 << bits);
  for (let i: u32 = 0; i < count; i++) {
    const counter = counters + (<usize>((load<u64>(from + (<usize>i << 3)) >> shift) & mask) << 2);
    store<u32>(counter, load<u32>(counter) + 1);
  }
  let sum: u32 = 0;
  for (let d: u32 = 0; d < 1 << bits; d++) {
    const counter = counters + (<usize>d << 2);
    const here = load<u32>(counter);
    store<u32>(counter, sum);
    sum += here;
  }
  for (let i: u32 = 0; i < count; i++) {
    const h = load<u64>(from + (<usize>i << 3));
    const counter = counters + (<usize>((h >> shift) & mask) << 2);
    const at = load<u32>(counter);
    store<u32>(counter, at + 1);
    store<u64>(other + (<usize>at << 3), h);
  }
  // Each counter has become the end of its bucket.
  let start: u32 = 0;
  for (let d: u32 = 0; d < 1 << bits; d++) {
    const end = load<u32>(counters + (<usize>d << 2));
    const offset = <usize>start << 3;
    if (end != start) {
      const next: u32 = min<u32>(8, left - bits);
      sort(other + offset, from + offset, end - start, left - bits, next, counters + (4 << bits), !toOther);
    }
    start = end;
  }
}

function insert(from: usize, count: u32): void {
  for (let i: u32 = 1; i < count; i++) {
    const h = load<u64>(from + (<usize>i << 3));
    let p = from + (<usize>i << 3);
    while (p > from && load<u64>(p - 8) > h) {
      store<u64>(p, load<u64>(p - 8));
      p -= 8;
    }
    store<u64>(p, h);
  }
}
