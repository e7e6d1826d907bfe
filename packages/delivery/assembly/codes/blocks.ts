// Sums (XOR) of blocks of equal size, by a program of sums. In src/codes/kernel, block-memory.ts
// has the program, wasm-blocks.ts the map of the memory, and script-blocks.ts is the twin.

const SET: u32 = 0x80000000;

// Runs the program of `words` words at `program`, on slots of `bytes` bytes from `slots` on.
export function run(program: usize, words: u32, slots: usize, bytes: u32): void {
  const end = program + (<usize>words << 2);
  for (let at = program; at < end; ) {
    const target = slots + <usize>load<u32>(at) * bytes;
    const head = load<u32>(at, 4);
    at += 8;
    const stop = at + (<usize>(head & ~SET) << 2);
    if (head & SET) {
      memory.copy(target, slots + <usize>load<u32>(at) * bytes, bytes);
      at += 4;
    }
    // The target stays in the first cache, so four sources at a time save loads and stores of it.
    while (at + 16 <= stop) {
      addFour(
        target,
        slots + <usize>load<u32>(at) * bytes,
        slots + <usize>load<u32>(at, 4) * bytes,
        slots + <usize>load<u32>(at, 8) * bytes,
        slots + <usize>load<u32>(at, 12) * bytes,
        bytes,
      );
      at += 16;
    }
    while (at < stop) {
      addOne(target, slots + <usize>load<u32>(at) * bytes, bytes);
      at += 4;
    }
  }
}

// @ts-ignore: decorator
@inline
function addFour(target: usize, a: usize, b: usize, c: usize, d: usize, bytes: u32): void {
  for (let i: usize = 0; i < <usize>bytes; i += 16) {
    const left = v128.xor(v128.load(a + i), v128.load(b + i));
    const right = v128.xor(v128.load(c + i), v128.load(d + i));
    v128.store(target + i, v128.xor(v128.load(target + i), v128.xor(left, right)));
  }
}

// @ts-ignore: decorator
@inline
function addOne(target: usize, a: usize, bytes: u32): void {
  for (let i: usize = 0; i < <usize>bytes; i += 16) {
    v128.store(target + i, v128.xor(v128.load(target + i), v128.load(a + i)));
  }
}
