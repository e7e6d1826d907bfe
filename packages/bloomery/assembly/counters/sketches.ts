// Counters that keys share: the loops of the Count-Min sketch and of the spectral Bloom filter over
// a chunk of hashes. What they do is explained, and has its twin, in
// src/kernel/counters/sketches.ts.
//
// `values` holds one double a key: on the way in the amount to add or subtract, on the way out the
// least counter as it was before (adding) or the count (counting). Keys are worked on one after the
// other, so a key that occurs twice in a chunk sees its first occurrence.

import { probeIndex } from '../bits/probe-index';

// The kernel's scratch region: the positions (as addresses) and the values of the counters of the
// key at hand.
const POSITIONS: usize = 9216;
const HELD: usize = 10240;

// @ts-ignore: decorator
@inline
function maximum<T>(): u64 {
  return sizeof<T>() == 8 ? 0x1fffffffffffff : (<u64>1 << (8 * sizeof<T>())) - 1;
}

// @ts-ignore: decorator
@inline
function low(hashes: usize, j: u32): u32 {
  return load<u32>(hashes + (j << 3));
}

// @ts-ignore: decorator
@inline
function high(hashes: usize, j: u32): u32 {
  return load<u32>(hashes + (j << 3), 4);
}

// @ts-ignore: decorator
@inline
function amountOf(values: usize, j: u32): u64 {
  return <u64>load<f64>(values + (j << 3));
}

// @ts-ignore: decorator
@inline
function answer(values: usize, j: u32, value: u64): void {
  store<f64>(values + (j << 3), <f64>value);
}

function least<T>(base: usize, a: u32, b: u32, range: u64, stride: u64, k: u32, first: u32): u64 {
  let result: u64 = u64.MAX_VALUE;
  let start: u64 = 0;
  for (let i: u32 = 0; i < k && result != 0; i++) {
    const value = <u64>load<T>(base + <usize>((start + probeIndex(a, b, first + i, range)) * sizeof<T>()));
    if (value < result) result = value;
    start += stride;
  }
  return result;
}

function find<T>(base: usize, a: u32, b: u32, range: u64, stride: u64, k: u32, first: u32): u64 {
  let result: u64 = u64.MAX_VALUE;
  let start: u64 = 0;
  for (let i: u32 = 0; i < k; i++) {
    const at = base + <usize>((start + probeIndex(a, b, first + i, range)) * sizeof<T>());
    const value = <u64>load<T>(at);
    store<u32>(POSITIONS + (i << 2), <u32>at);
    store<u64>(HELD + (i << 3), value);
    if (value < result) result = value;
    start += stride;
  }
  return result;
}

function addFound<T>(k: u32, amount: u64): void {
  for (let i: u32 = 0; i < k; i++) {
    const sum = load<u64>(HELD + (i << 3)) + amount;
    store<T>(<usize>load<u32>(POSITIONS + (i << 2)), <T>min<u64>(maximum<T>(), sum));
  }
}

function raiseFound<T>(k: u32, target: u64): void {
  for (let i: u32 = 0; i < k; i++) {
    if (load<u64>(HELD + (i << 3)) < target) store<T>(<usize>load<u32>(POSITIONS + (i << 2)), <T>target);
  }
}

function subtractFound<T>(k: u32, amount: u64): bool {
  for (let i: u32 = 0; i < k; i++) {
    const value = load<u64>(HELD + (i << 3));
    if (value < amount && value < maximum<T>()) return false;
  }
  for (let i: u32 = 0; i < k; i++) {
    const value = load<u64>(HELD + (i << 3));
    if (value < maximum<T>()) store<T>(<usize>load<u32>(POSITIONS + (i << 2)), <T>(value - amount));
  }
  return true;
}

function recurs(k: u32, value: u64): bool {
  let seen: u32 = 0; // no counter has this address
  for (let i: u32 = 0; i < k; i++) {
    const at = load<u32>(POSITIONS + (i << 2));
    if (load<u64>(HELD + (i << 3)) != value || at == seen) continue;
    if (seen != 0) return true;
    seen = at;
  }
  return false;
}

function distinct(k: u32): bool {
  const first = load<u32>(POSITIONS);
  for (let i: u32 = 1; i < k; i++) if (load<u32>(POSITIONS + (i << 2)) != first) return true;
  return false;
}

// One function a width and rule; the exported ones choose by the width.

function countAll<T>(
  hashes: usize, count: u32, filter: usize, range: u64, stride: u64, k: u32, values: usize, results: usize,
): void {
  for (let j: u32 = 0; j < count; j++) {
    const value = least<T>(filter, low(hashes, j), high(hashes, j), range, stride, k, 0);
    answer(values, j, value);
    store<u8>(results + j, value != 0 ? 1 : 0);
  }
}

function sumAll<T>(
  hashes: usize, count: u32, filter: usize, range: u64, stride: u64, k: u32, values: usize,
): u32 {
  let fresh: u32 = 0;
  for (let j: u32 = 0; j < count; j++) {
    const before = find<T>(filter, low(hashes, j), high(hashes, j), range, stride, k, 0);
    addFound<T>(k, amountOf(values, j));
    answer(values, j, before);
    fresh += before == 0 ? 1 : 0;
  }
  return fresh;
}

function raiseAll<T>(
  hashes: usize, count: u32, filter: usize, range: u64, stride: u64, k: u32, values: usize,
): u32 {
  let fresh: u32 = 0;
  for (let j: u32 = 0; j < count; j++) {
    const before = find<T>(filter, low(hashes, j), high(hashes, j), range, stride, k, 0);
    raiseFound<T>(k, min<u64>(maximum<T>(), before + amountOf(values, j)));
    answer(values, j, before);
    fresh += before == 0 ? 1 : 0;
  }
  return fresh;
}

function subtractAll<T>(
  hashes: usize, count: u32, filter: usize, range: u64, stride: u64, k: u32, values: usize, results: usize,
  total: u64,
): u32 {
  let done: u32 = 0;
  for (let j: u32 = 0; j < count; j++) {
    const amount = amountOf(values, j);
    let did = amount <= total;
    if (did) {
      find<T>(filter, low(hashes, j), high(hashes, j), range, stride, k, 0);
      did = subtractFound<T>(k, amount);
      if (did) total -= amount;
    }
    store<u8>(results + j, did ? 1 : 0);
    done += did ? 1 : 0;
  }
  return done;
}

// The second array begins behind the `range` counters of the first, and is probed with the probes k
// to 2k - 1.

function recurringCountAll<T>(
  hashes: usize, count: u32, filter: usize, range: u64, range2: u64, k: u32, values: usize,
): void {
  const second = filter + <usize>(range * sizeof<T>());
  for (let j: u32 = 0; j < count; j++) {
    const a = low(hashes, j);
    const b = high(hashes, j);
    let value = find<T>(filter, a, b, range, 0, k, 0);
    if (value != 0 && !recurs(k, value)) {
      const moved = least<T>(second, a, b, range2, 0, k, k);
      if (moved > 0 && moved < value) value = moved;
    }
    answer(values, j, value);
  }
}

function recurringSumAll<T>(
  hashes: usize, count: u32, filter: usize, range: u64, range2: u64, k: u32, values: usize,
): u32 {
  const second = filter + <usize>(range * sizeof<T>());
  let fresh: u32 = 0;
  for (let j: u32 = 0; j < count; j++) {
    const a = low(hashes, j);
    const b = high(hashes, j);
    const amount = amountOf(values, j);
    const before = find<T>(filter, a, b, range, 0, k, 0);
    answer(values, j, before);
    fresh += before == 0 ? 1 : 0;
    if (amount == 0) continue;
    addFound<T>(k, amount);
    const after = min<u64>(maximum<T>(), before + amount);
    const single = after == maximum<T>() ? !distinct(k) : !recurs(k, before);
    const moved = find<T>(second, a, b, range2, 0, k, k);
    if (moved > 0) addFound<T>(k, amount);
    else if (single) addFound<T>(k, after);
  }
  return fresh;
}

function recurringSubtractAll<T>(
  hashes: usize, count: u32, filter: usize, range: u64, range2: u64, k: u32, values: usize, results: usize,
  total: u64,
): u32 {
  const second = filter + <usize>(range * sizeof<T>());
  let done: u32 = 0;
  for (let j: u32 = 0; j < count; j++) {
    const a = low(hashes, j);
    const b = high(hashes, j);
    const amount = amountOf(values, j);
    let did = amount <= total;
    if (did) {
      find<T>(filter, a, b, range, 0, k, 0);
      did = subtractFound<T>(k, amount);
    }
    if (did) {
      total -= amount;
      if (find<T>(second, a, b, range2, 0, k, k) > 0) subtractFound<T>(k, amount);
    }
    store<u8>(results + j, did ? 1 : 0);
    done += did ? 1 : 0;
  }
  return done;
}

export function sketchCount(
  hashes: usize, count: u32, filter: usize, bits: u32, range: f64, stride: f64, k: u32, values: usize,
  results: usize,
): void {
  const m = <u64>range;
  const step = <u64>stride;
  if (bits == 32) countAll<u32>(hashes, count, filter, m, step, k, values, results);
  else if (bits == 16) countAll<u16>(hashes, count, filter, m, step, k, values, results);
  else if (bits == 8) countAll<u8>(hashes, count, filter, m, step, k, values, results);
  else countAll<u64>(hashes, count, filter, m, step, k, values, results);
}

export function sketchSum(
  hashes: usize, count: u32, filter: usize, bits: u32, range: f64, stride: f64, k: u32, values: usize,
): u32 {
  const m = <u64>range;
  const step = <u64>stride;
  if (bits == 32) return sumAll<u32>(hashes, count, filter, m, step, k, values);
  if (bits == 16) return sumAll<u16>(hashes, count, filter, m, step, k, values);
  if (bits == 8) return sumAll<u8>(hashes, count, filter, m, step, k, values);
  return sumAll<u64>(hashes, count, filter, m, step, k, values);
}

export function sketchRaise(
  hashes: usize, count: u32, filter: usize, bits: u32, range: f64, stride: f64, k: u32, values: usize,
): u32 {
  const m = <u64>range;
  const step = <u64>stride;
  if (bits == 32) return raiseAll<u32>(hashes, count, filter, m, step, k, values);
  if (bits == 16) return raiseAll<u16>(hashes, count, filter, m, step, k, values);
  if (bits == 8) return raiseAll<u8>(hashes, count, filter, m, step, k, values);
  return raiseAll<u64>(hashes, count, filter, m, step, k, values);
}

export function sketchSubtract(
  hashes: usize, count: u32, filter: usize, bits: u32, range: f64, stride: f64, k: u32, values: usize,
  results: usize, total: f64,
): u32 {
  const m = <u64>range;
  const step = <u64>stride;
  const n = <u64>total;
  if (bits == 32) return subtractAll<u32>(hashes, count, filter, m, step, k, values, results, n);
  if (bits == 16) return subtractAll<u16>(hashes, count, filter, m, step, k, values, results, n);
  if (bits == 8) return subtractAll<u8>(hashes, count, filter, m, step, k, values, results, n);
  return subtractAll<u64>(hashes, count, filter, m, step, k, values, results, n);
}

export function recurringCount(
  hashes: usize, count: u32, filter: usize, bits: u32, range: f64, range2: f64, k: u32, values: usize,
): void {
  const m = <u64>range;
  const m2 = <u64>range2;
  if (bits == 32) recurringCountAll<u32>(hashes, count, filter, m, m2, k, values);
  else if (bits == 16) recurringCountAll<u16>(hashes, count, filter, m, m2, k, values);
  else recurringCountAll<u8>(hashes, count, filter, m, m2, k, values);
}

export function recurringSum(
  hashes: usize, count: u32, filter: usize, bits: u32, range: f64, range2: f64, k: u32, values: usize,
): u32 {
  const m = <u64>range;
  const m2 = <u64>range2;
  if (bits == 32) return recurringSumAll<u32>(hashes, count, filter, m, m2, k, values);
  if (bits == 16) return recurringSumAll<u16>(hashes, count, filter, m, m2, k, values);
  return recurringSumAll<u8>(hashes, count, filter, m, m2, k, values);
}

export function recurringSubtract(
  hashes: usize, count: u32, filter: usize, bits: u32, range: f64, range2: f64, k: u32, values: usize,
  results: usize, total: f64,
): u32 {
  const m = <u64>range;
  const m2 = <u64>range2;
  const n = <u64>total;
  if (bits == 32) return recurringSubtractAll<u32>(hashes, count, filter, m, m2, k, values, results, n);
  if (bits == 16) return recurringSubtractAll<u16>(hashes, count, filter, m, m2, k, values, results, n);
  return recurringSubtractAll<u8>(hashes, count, filter, m, m2, k, values, results, n);
}
