// Addresses, ports and lengths of usual packets, from the bytes of a capture to the keys and
// amounts of a batch. Its twin is the way by `HeaderDecoder` and `KeyWriter`. Which packets are
// usual, and the map of the memory: src/flows/kernel/packet-stager.ts.

const FIELDS: usize = 256;
const SHORT: usize = FIELDS;
const PROTOCOL_MASK: usize = FIELDS + 4;
const PORT_MASK: usize = FIELDS + 8;
const MASKS_4: usize = FIELDS + 12;
const SOURCE_6: usize = FIELDS + 20;
const DESTINATION_6: usize = FIELDS + 36;
const COLUMNS: usize = FIELDS + 52;
const BYTES_AT: usize = FIELDS + 56;
const PACKETS_AT: usize = FIELDS + 60;
const WIRE: usize = FIELDS + 64;
const NEXT_PLACE: usize = FIELDS + 68;
const INTERVAL_END: usize = FIELDS + 72;
const FIRST: usize = FIELDS + 80;
const LAST: usize = FIELDS + 88;

const CAPTURED: usize = 4096;
const WIRE_LENGTH: usize = 8192;
const NANOSECONDS: usize = 12288;
const SECONDS: usize = 16384;
const LINK_TYPE: usize = 24576;

const BATCH_KEYS: u32 = 1024;
const ETHERNET: u32 = 1;
const NO_PORTS: u64 = 1 << 32;

// Numbers of captures have their high byte first, and memory its low byte.
// @ts-ignore: decorator
@inline
function swap16(number: u32): u32 {
  return ((number & 0xff) << 8) | (number >> 8);
}

// @ts-ignore: decorator
@inline
function swap32(number: u32): u32 {
  return (rotl<u32>(number, 8) & 0x00ff00ff) | (rotr<u32>(number, 8) & 0xff00ff00);
}

// Both halves of 64 bits, each by itself.
// @ts-ignore: decorator
@inline
function swapHalves(number: u64): u64 {
  const x = ((number & 0x00ff00ff00ff00ff) << 8) | ((number >> 8) & 0x00ff00ff00ff00ff);
  return ((x & 0x0000ffff0000ffff) << 16) | ((x >> 16) & 0x0000ffff0000ffff);
}

// @ts-ignore: decorator
@inline
function isTag(etherType: u32): bool {
  return etherType == 0x8100 || etherType == 0x88a8 || etherType == 0x9100 || etherType == 0x9200;
}

// Both ports, 0 for protocols without them, or NO_PORTS if the bytes end before them.
// @ts-ignore: decorator
@inline
function portsAt(at: usize, stop: usize, protocol: u32): u64 {
  if (protocol == 6 || protocol == 17 || protocol == 132 || protocol == 33 || protocol == 136) {
    return at + 4 > stop ? NO_PORTS : <u64>swap32(load<u32>(at));
  }
  if (protocol == 1 || protocol == 58) return at + 2 > stop ? NO_PORTS : <u64>swap16(load<u16>(at));
  return 0;
}

// @ts-ignore: decorator
@inline
function isExtension(next: u32): bool {
  return (
    next == 0 ||
    next == 43 ||
    next == 44 ||
    next == 51 ||
    next == 60 ||
    next == 135 ||
    next == 139 ||
    next == 140
  );
}

// Stages rows from `row` to `rows` behind the `staged` keys that end at `place`. Offsets of packets
// count from `base`. Returns the row at which it stopped.
export function stage(row: u32, rows: u32, base: usize, staged: u32, place: usize): u32 {
  const columns = <usize>load<u32>(COLUMNS);
  const bytesAt = <usize>load<u32>(BYTES_AT);
  const packetsAt = <usize>load<u32>(PACKETS_AT);
  const isShort = load<u32>(SHORT) != 0;
  const isWire = load<u32>(WIRE) != 0;
  const protocolMask = load<u32>(PROTOCOL_MASK);
  const portMask = load<u32>(PORT_MASK);
  const masks4 = load<u64>(MASKS_4);
  const end = load<f64>(INTERVAL_END);
  let first: f64 = Infinity;
  let last: f64 = -Infinity;

  for (; row < rows && staged < BATCH_KEYS; row++) {
    const column = columns + (<usize>row << 2);
    const seconds = load<f64>(columns + (<usize>row << 3), SECONDS);
    if (seconds >= end || <u32>load<u16>(columns + (<usize>row << 1), LINK_TYPE) != ETHERNET) break;
    let at = base + <usize>load<u32>(column);
    const stop = at + <usize>load<u32>(column, CAPTURED);
    if (at + 34 > stop) break;
    let etherType = swap16(load<u16>(at, 12));
    at += 14;
    while (isTag(etherType) && at + 4 <= stop) {
      etherType = swap16(load<u16>(at, 2));
      at += 4;
    }
    let length: u32 = 0;
    if (etherType == 0x0800) {
      if (at + 20 > stop) break;
      const version = <u32>load<u8>(at);
      const header = (version & 15) << 2;
      length = swap16(load<u16>(at, 2));
      // 0xff3f holds the offset of a fragment and the bit that says that more of them follow.
      if (version >> 4 != 4 || header < 20 || length < header || (load<u16>(at, 6) & 0xff3f) != 0) break;
      const protocol = <u32>load<u8>(at, 9);
      const ports = portsAt(at + header, min(stop, at + length), protocol);
      if (ports == NO_PORTS) break;
      store<u32>(place, (isShort ? 2 : 2 | (4 << 8)) | ((protocol & protocolMask) << 16));
      store<u32>(place, <u32>ports & portMask, 4);
      store<u64>(place, swapHalves(load<u64>(at, 12)) & masks4, 8);
      place += 16;
    } else if (etherType == 0x86dd) {
      if (at + 40 > stop || load<u8>(at) >> 4 != 6) break;
      length = 40 + swap16(load<u16>(at, 4));
      const next = <u32>load<u8>(at, 6);
      if (length == 40 || isExtension(next)) break;
      const ports = portsAt(at + 40, min(stop, at + length), next);
      if (ports == NO_PORTS) break;
      store<u32>(place, (isShort ? 2 : 5 | (6 << 8)) | ((next & protocolMask) << 16));
      store<u32>(place, <u32>ports & portMask, 4);
      if (isShort) {
        store<u64>(place, 0, 8);
        place += 16;
      } else {
        store<u64>(place, swapHalves(load<u64>(at, 8)) & load<u64>(SOURCE_6), 8);
        store<u64>(place, swapHalves(load<u64>(at, 16)) & load<u64>(SOURCE_6, 8), 16);
        store<u64>(place, swapHalves(load<u64>(at, 24)) & load<u64>(DESTINATION_6), 24);
        store<u64>(place, swapHalves(load<u64>(at, 32)) & load<u64>(DESTINATION_6, 8), 32);
        place += 40;
      }
    } else {
      break;
    }
    if (isWire) length = load<u32>(column, WIRE_LENGTH);
    store<f64>(bytesAt + (<usize>staged << 3), <f64>length);
    store<f64>(packetsAt + (<usize>staged << 3), 1);
    staged++;
    const time = seconds + <f64>load<u32>(column, NANOSECONDS) * 1e-9;
    first = min(first, time);
    last = max(last, time);
  }
  store<u32>(NEXT_PLACE, <u32>place);
  store<f64>(FIRST, first);
  store<f64>(LAST, last);
  return row;
}
