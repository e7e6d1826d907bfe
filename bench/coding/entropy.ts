/**
 * The entropies that the coder is compared with. All are of zeroth order and of the very contents:
 * what an ideal coder would take that is told how often each value occurs, and nothing else.
 */

import { countersOf, nestedFrames, payloadOf, readFrameHead } from 'bloomery/frames';
import { binaryEntropy } from 'bloomery/math';

/** The entropy of a payload in bytes. Bytes without a model, such as a total, count as they are. */
export function payloadEntropy(frame: Uint8Array): number {
  const { structure, parameters } = readFrameHead(frame);
  const payload = payloadOf(frame);
  switch (structure) {
    case 'BloomFilter':
    case 'BlockedBloomFilter':
      return (parameters.bits * binaryEntropy(onesIn(payload) / parameters.bits)) / 8;
    case 'CountingBloomFilter':
      return entropyOf(countersIn(frame));
    case 'SpectralBloomFilter': {
      // The two arrays have distributions of their own.
      const counters = countersIn(frame);
      const { counters: first } = parameters;
      return TOTAL + entropyOf(counters.slice(0, first)) + entropyOf(counters.slice(first));
    }
    case 'CountMinSketch':
      return TOTAL + entropyOf(countersIn(frame));
    case 'HeavyHitters':
      return TOTAL + entropyOf(countersIn(frame)) + parameters.candidateBytes;
    case 'HashList':
      return (parameters.bits * binaryEntropy(parameters.count / parameters.bits)) / 8;
    case 'StaticFilter':
      return slotEntropy(payload, parameters.fingerprintBits, slotsOf(parameters));
    case 'BloomierFilter':
      return slotEntropy(payload, 2 + parameters.checkBits + parameters.valueBits, slotsOf(parameters));
    default:
      return nestedFrames(frame).reduce(
        (sum, { start, end }) => sum + payloadEntropy(frame.subarray(start, end)),
        0,
      );
  }
}

/**
 * The entropy of the changes in bytes: of the XOR for bits; for counters, of the differences given
 * the number of digits of the old counter. Undefined for structures without such a measure.
 */
export function changeEntropy(from: Uint8Array, to: Uint8Array): number | undefined {
  const { structure, parameters } = readFrameHead(from);
  if (structure === 'BloomFilter' || structure === 'BlockedBloomFilter') {
    const [before, after] = [payloadOf(from), payloadOf(to)];
    return (
      (parameters.bits * binaryEntropy(onesIn(before.map((byte, i) => byte ^ after[i])) / parameters.bits)) /
      8
    );
  }
  const candidates = structure === 'HeavyHitters' ? candidateBytesOf(to) : 0;
  if (!['CountingBloomFilter', 'SpectralBloomFilter', 'CountMinSketch', 'HeavyHitters'].includes(structure)) {
    return undefined;
  }
  const [before, after] = [countersIn(from), countersIn(to)];
  const byDigits = new Map<number, number[]>();
  for (let i = 0; i < before.length; i++) {
    const digits = before[i] === 0 ? 0 : 1 + Math.floor(Math.log2(before[i]));
    const group = byDigits.get(digits) ?? [];
    byDigits.set(digits, group);
    group.push(after[i] - before[i]);
  }
  let bytes = structure === 'CountingBloomFilter' ? 0 : TOTAL;
  for (const differences of byDigits.values()) bytes += entropyOf(differences);
  return bytes + candidates;
}

const TOTAL = 8;

function candidateBytesOf(frame: Uint8Array): number {
  const { structure, parameters } = readFrameHead(frame);
  return structure === 'HeavyHitters' ? parameters.candidateBytes : 0;
}

function slotsOf({
  segments,
  segmentLength,
}: {
  readonly segments: number;
  readonly segmentLength: number;
}): number {
  return (segments + 3) * segmentLength;
}

/** Entropy of the choice of used slots, and of the used ones as they are. */
function slotEntropy(payload: Uint8Array, width: number, count: number): number {
  let used = 0;
  for (let i = 0; i < count; i++) if (fieldAt(payload, i * width, width) !== 0n) used++;
  return (count * binaryEntropy(used / count) + used * width) / 8;
}

/** The counters of a frame as numbers. */
function countersIn(frame: Uint8Array): number[] {
  const { structure, parameters } = readFrameHead(frame);
  if (!('counterBits' in parameters))
    throw new TypeError(`Cannot read counters: expected a structure of counters, got ${structure}`);
  const width = parameters.counterBits;
  const bytes = structure === 'CountingBloomFilter' ? payloadOf(frame) : countersOf(frame);
  const count = structure === 'CountingBloomFilter' ? parameters.counters : (8 * bytes.length) / width;
  return Array.from({ length: count }, (_, i) => Number(fieldAt(bytes, i * width, width)));
}

function fieldAt(bytes: Uint8Array, at: number, width: number): bigint {
  let value = 0n;
  for (let byte = Math.floor((at + width - 1) / 8); byte >= Math.floor(at / 8); byte--) {
    value = (value << 8n) | BigInt(bytes[byte]);
  }
  return (value >> BigInt(at % 8)) & ((1n << BigInt(width)) - 1n);
}

function entropyOf(values: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= count * Math.log2(count / values.length);
  return bits / 8;
}

function onesIn(bytes: Uint8Array): number {
  let ones = 0;
  for (const byte of bytes) for (let rest = byte; rest !== 0; rest &= rest - 1) ones++;
  return ones;
}
