// Digests of a batch of packets and of their sources: masks the bytes that routers change and
// hashes the others by SipHash-2-4. Twin: src/traceback/digests/script-digests.ts.
// src/traceback/digests/layout.ts has the map of the memory, invariant-bytes.ts beside it says
// which bytes are masked.

const SECRET: usize = 16;
const CUT: usize = 32;
const SOURCES: usize = 36;
// Invariant bytes of two packets, which are hashed together: each waits for the other in a chain of
// additions and rotations, so two take little longer than one.
const SCRATCH: usize = 256;
const OTHER_SCRATCH: usize = 2048;
const STATUS: usize = 4096;
const STARTS: usize = 8192;
const CAPTURED: usize = 24576;
const HEADERS: usize = 40960;
const LENGTHS: usize = 57344;
const HASHES: usize = 73728;
const ROWS: usize = 106496;
const NANOSECONDS: usize = 122880;
const SECONDS: usize = 139264;
const TIMES: usize = 172032;
const SOURCE_HASHES: usize = 204800;
const SOURCE_TIMES: usize = 237568;
const RECENT: usize = 270336;
const BYTES: usize = 589824;

// Notes the source of a packet, unless it was noted within `slackS` seconds. Returns the new
// number of sources. Most sources were, and are found by their address without a keyed hash: an
// attacker who makes them collide makes us hash more, and nothing else.
// @ts-ignore: decorator
@inline
function noteSource(
  a: u64, b: u64, address: usize, length: u32, time: f64, slackS: f64, sources: u32, k0: u64, k1: u64,
): u32 {
  const mixed = (a ^ (b * 0x9e3779b97f4a7c15)) * 0x9e3779b97f4a7c15;
  const slot = RECENT + (<usize>(mixed >> 51) << 5);
  const isSame = load<u64>(slot) == a && load<u64>(slot, 8) == b;
  if (isSame && abs<f64>(time - load<f64>(slot, 16)) < slackS) return sources;
  store<u64>(slot, a);
  store<u64>(slot, b, 8);
  store<f64>(slot, time, 16);
  store<u64>(SOURCE_HASHES + (<usize>sources << 3), sipHash24(address, length, k0, k1));
  store<f64>(SOURCE_TIMES + (<usize>sources << 3), time);
  return sources + 1;
}

// Digests `count` rows. `base` is the position of BYTES in the batch. Returns the number of
// digests. The number of packets that the capture cut is at CUT, that of the sources at SOURCES.
// With a slack below 0 sources are left out.
export function digest(count: u32, base: u32, payloadBytes: u32, slackS: f64): u32 {
  const k0 = load<u64>(SECRET);
  const k1 = load<u64>(SECRET, 8);
  let made: u32 = 0;
  let cut: u32 = 0;
  let sources: u32 = 0;
  let scratch = SCRATCH;
  // A packet that waits for another one of its length; 0 if there is none.
  let waitingLength: u32 = 0;
  for (let row: u32 = 0; row < count; row++) {
    if (load<u8>(STATUS + row) != 0) continue;
    const word = <usize>row << 2;
    const ip = BYTES + <usize>(load<u32>(HEADERS + word) - base);
    const end = BYTES + <usize>(load<u32>(STARTS + word) + load<u32>(CAPTURED + word) - base);
    const first = <u32>load<u8>(ip);
    const nanoseconds = <f64>load<u32>(NANOSECONDS + word);
    const time = load<f64>(SECONDS + (<usize>row << 3)) + nanoseconds / 1e9;
    if (slackS >= 0) {
      sources =
        first >> 4 == 4
          ? noteSource(load<u32>(ip, 12), 4, ip + 12, 4, time, slackS, sources, k0, k1)
          : noteSource(load<u64>(ip, 8), load<u64>(ip, 16), ip + 8, 16, time, slackS, sources, k0, k1);
    }
    let payload: usize;
    let head: usize;
    if (first >> 4 == 4) {
      // Little-endian words: the first byte of the packet is the lowest.
      store<u64>(scratch, (load<u64>(ip) & 0xffffffffffff0000) | 0x40);
      store<u64>(scratch, load<u64>(ip, 8) & 0xffffffff0000ff00, 8);
      store<u32>(scratch, load<u32>(ip, 16), 16);
      payload = ip + <usize>((first & 15) << 2);
      head = 20;
    } else {
      store<u64>(scratch, (load<u64>(ip) & 0x00ffffff00000000) | 0x60);
      for (let i: usize = 8; i < 40; i += 8) store<u64>(scratch + i, load<u64>(ip + i));
      payload = ip + 40;
      head = 40;
      if (load<u8>(ip, 6) == 0) {
        if (payload + 2 > end) {
          cut++;
          continue;
        }
        payload += (<usize>load<u8>(payload, 1) + 1) << 3;
      }
    }
    const stop = min(ip + <usize>load<u32>(LENGTHS + word), payload + <usize>payloadBytes);
    if (stop > end) {
      cut++;
      continue;
    }
    let to = scratch + head;
    // Up to seven bytes behind the end are copied as well, and masked by the hash.
    for (let p = payload; p < stop; p += 8) {
      store<u64>(to, load<u64>(p));
      to += 8;
    }
    const length = <u32>(head + (stop > payload ? stop - payload : 0));
    if (waitingLength == length) {
      const other = scratch == SCRATCH ? OTHER_SCRATCH : SCRATCH;
      sipHashPair(other, scratch, length, k0, k1, HASHES + (<usize>(made - 1) << 3));
      waitingLength = 0;
    } else {
      if (waitingLength != 0) {
        const other = scratch == SCRATCH ? OTHER_SCRATCH : SCRATCH;
        store<u64>(HASHES + (<usize>(made - 1) << 3), sipHash24(other, waitingLength, k0, k1));
      }
      waitingLength = length;
      scratch = scratch == SCRATCH ? OTHER_SCRATCH : SCRATCH;
    }
    store<u32>(ROWS + (<usize>made << 2), row);
    store<f64>(TIMES + (<usize>made << 3), time);
    made++;
  }
  if (waitingLength != 0) {
    const other = scratch == SCRATCH ? OTHER_SCRATCH : SCRATCH;
    store<u64>(HASHES + (<usize>(made - 1) << 3), sipHash24(other, waitingLength, k0, k1));
  }
  store<u32>(CUT, cut);
  store<u32>(SOURCES, sources);
  return made;
}

function sipHash24(pointer: usize, length: u32, k0: u64, k1: u64): u64 {
  let v0: u64 = k0 ^ 0x736f6d6570736575;
  let v1: u64 = k1 ^ 0x646f72616e646f6d;
  let v2: u64 = k0 ^ 0x6c7967656e657261;
  let v3: u64 = k1 ^ 0x7465646279746573;
  const end = pointer + <usize>(length & 0xfffffff8);
  for (let p = pointer; p <= end; p += 8) {
    let word = load<u64>(p);
    // The last word holds the rest of the message, and the length in its top byte.
    if (p == end) word = (word & ((<u64>1 << <u64>((length & 7) << 3)) - 1)) | (<u64>length << 56);
    v3 ^= word;
    for (let round = 0; round < 2; round++) {
      v0 += v1;
      v1 = rotl<u64>(v1, 13) ^ v0;
      v0 = rotl<u64>(v0, 32);
      v2 += v3;
      v3 = rotl<u64>(v3, 16) ^ v2;
      v0 += v3;
      v3 = rotl<u64>(v3, 21) ^ v0;
      v2 += v1;
      v1 = rotl<u64>(v1, 17) ^ v2;
      v2 = rotl<u64>(v2, 32);
    }
    v0 ^= word;
  }
  v2 ^= 0xff;
  for (let round = 0; round < 4; round++) {
    v0 += v1;
    v1 = rotl<u64>(v1, 13) ^ v0;
    v0 = rotl<u64>(v0, 32);
    v2 += v3;
    v3 = rotl<u64>(v3, 16) ^ v2;
    v0 += v3;
    v3 = rotl<u64>(v3, 21) ^ v0;
    v2 += v1;
    v1 = rotl<u64>(v1, 17) ^ v2;
    v2 = rotl<u64>(v2, 32);
  }
  return v0 ^ v1 ^ v2 ^ v3;
}

// Hashes two messages of the same length into the 16 bytes at `out`.
function sipHashPair(p: usize, q: usize, length: u32, k0: u64, k1: u64, out: usize): void {
  let v0: u64 = k0 ^ 0x736f6d6570736575;
  let v1: u64 = k1 ^ 0x646f72616e646f6d;
  let v2: u64 = k0 ^ 0x6c7967656e657261;
  let v3: u64 = k1 ^ 0x7465646279746573;
  let w0 = v0;
  let w1 = v1;
  let w2 = v2;
  let w3 = v3;
  const whole = <usize>(length & 0xfffffff8);
  for (let at: usize = 0; at <= whole; at += 8) {
    let a = load<u64>(p + at);
    let b = load<u64>(q + at);
    if (at == whole) {
      const mask = (<u64>1 << <u64>((length & 7) << 3)) - 1;
      a = (a & mask) | (<u64>length << 56);
      b = (b & mask) | (<u64>length << 56);
    }
    v3 ^= a;
    w3 ^= b;
    for (let round = 0; round < 2; round++) {
      v0 += v1;
      w0 += w1;
      v1 = rotl<u64>(v1, 13) ^ v0;
      w1 = rotl<u64>(w1, 13) ^ w0;
      v0 = rotl<u64>(v0, 32);
      w0 = rotl<u64>(w0, 32);
      v2 += v3;
      w2 += w3;
      v3 = rotl<u64>(v3, 16) ^ v2;
      w3 = rotl<u64>(w3, 16) ^ w2;
      v0 += v3;
      w0 += w3;
      v3 = rotl<u64>(v3, 21) ^ v0;
      w3 = rotl<u64>(w3, 21) ^ w0;
      v2 += v1;
      w2 += w1;
      v1 = rotl<u64>(v1, 17) ^ v2;
      w1 = rotl<u64>(w1, 17) ^ w2;
      v2 = rotl<u64>(v2, 32);
      w2 = rotl<u64>(w2, 32);
    }
    v0 ^= a;
    w0 ^= b;
  }
  v2 ^= 0xff;
  w2 ^= 0xff;
  for (let round = 0; round < 4; round++) {
    v0 += v1;
    w0 += w1;
    v1 = rotl<u64>(v1, 13) ^ v0;
    w1 = rotl<u64>(w1, 13) ^ w0;
    v0 = rotl<u64>(v0, 32);
    w0 = rotl<u64>(w0, 32);
    v2 += v3;
    w2 += w3;
    v3 = rotl<u64>(v3, 16) ^ v2;
    w3 = rotl<u64>(w3, 16) ^ w2;
    v0 += v3;
    w0 += w3;
    v3 = rotl<u64>(v3, 21) ^ v0;
    w3 = rotl<u64>(w3, 21) ^ w0;
    v2 += v1;
    w2 += w1;
    v1 = rotl<u64>(v1, 17) ^ v2;
    w1 = rotl<u64>(w1, 17) ^ w2;
    v2 = rotl<u64>(v2, 32);
    w2 = rotl<u64>(w2, 32);
  }
  store<u64>(out, v0 ^ v1 ^ v2 ^ v3);
  store<u64>(out, w0 ^ w1 ^ w2 ^ w3, 8);
}
