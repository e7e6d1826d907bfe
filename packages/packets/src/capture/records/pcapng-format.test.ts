import { expect, test } from 'vitest';
import { CaptureDecoder } from '../capture-decoder.ts';
import { PacketBatch } from '../packet-batch.ts';

type Body = (number | [value: number | bigint, bytes: 2 | 4 | 8])[];

/** Blocks of pcapng in one byte order, written by the draft and apart from our writer. */
function blocks(
  littleEndian: boolean,
  ...list: readonly (readonly [type: number, body: Body])[]
): Uint8Array {
  const parts = list.map(([type, body]) => {
    const content = body.flatMap((field) =>
      typeof field === 'number' ? [field] : number(field, littleEndian),
    );
    while (content.length % 4 !== 0) content.push(0);
    const length = number([content.length + 12, 4], littleEndian);
    return [...number([type, 4], littleEndian), ...length, ...content, ...length];
  });
  return Uint8Array.from(parts.flat());
}

function number([value, bytes]: [number | bigint, 2 | 4 | 8], littleEndian: boolean): number[] {
  const digits = Array.from({ length: bytes }, (_, i) => Number((BigInt(value) >> BigInt(8 * i)) & 255n));
  return littleEndian ? digits : digits.reverse();
}

const SECTION: [number, Body] = [
  0x0a0d0d0a,
  [
    [0x1a2b3c4d, 4],
    [1, 2],
    [0, 2],
    [0xffffffffffffffffn, 8],
  ],
];
const interfaceBlock = (linkType: number, options: Body = [], snapLength = 0): [number, Body] => [
  1,
  [[linkType, 2], [0, 2], [snapLength, 4], ...options],
];
const enhanced = (id: number, time: bigint, bytes: number[], wire = bytes.length): [number, Body] => [
  6,
  [[id, 4], [time >> 32n, 4], [time & 0xffffffffn, 4], [bytes.length, 4], [wire, 4], ...bytes],
];

/** Packets as text, and the code of the error at the end, if any. */
function decodeAll(file: Uint8Array, size = file.length): string[] {
  const decoder = new CaptureDecoder();
  const batch = new PacketBatch(3);
  const lines: string[] = [];
  try {
    for (let at = 0; at < file.length; at += size) {
      decoder.push(file.subarray(at, at + size));
      while (decoder.next(batch)) {
        for (let i = 0; i < batch.count; i++) {
          const bytes = batch.bytes.subarray(batch.offset[i], batch.offset[i] + batch.capturedLength[i]);
          lines.push(
            `${batch.seconds[i]}.${batch.nanoseconds[i]} if${batch.interfaceId[i]} link${batch.linkType[i]} ${batch.wireLength[i]} [${bytes}]`,
          );
        }
      }
    }
    decoder.end();
  } catch (error) {
    lines.push((error as { code: string }).code);
  }
  return lines;
}

const MICRO = 1_700_000_000_123_456n;
const NANO = 1_700_000_000_123_456_789n;

test('PcapngFormat reads sections of both byte orders with their own interfaces, in chunks of any size', () => {
  const file = (first: boolean) =>
    Uint8Array.from([
      ...blocks(
        first,
        SECTION,
        interfaceBlock(1),
        interfaceBlock(113, [[9, 2], [1, 2], 9, 0, 0, 0, [14, 2], [8, 2], [10, 8], [0, 2], [0, 2]]),
        [0x0bad, [1, 2, 3, 4, 5, 6, 7, 8]],
        enhanced(0, MICRO, [1, 2, 3]),
        enhanced(1, NANO, [4], 1500),
        [
          5,
          [
            [0, 4],
            [0, 4],
            [0, 4],
          ],
        ],
        [2, [[0, 2], [7, 2], [MICRO >> 32n, 4], [MICRO & 0xffffffffn, 4], [2, 4], [60, 4], 8, 9]],
      ),
      ...blocks(!first, SECTION, interfaceBlock(101, [], 2), [3, [[5, 4], 1, 2]], enhanced(0, MICRO, [7])),
    ]);
  const expected = [
    '1700000000.123456000 if0 link1 3 [1,2,3]',
    '1700000010.123456789 if1 link113 1500 [4]',
    '1700000000.123456000 if0 link1 60 [8,9]',
    '0.0 if0 link101 5 [1,2]',
    '1700000000.123456000 if0 link101 1 [7]',
  ];
  for (const order of [true, false]) {
    for (const size of [1, 3, 12, 50, 1000]) expect(decodeAll(file(order), size)).toEqual(expected);
  }
});

test('PcapngFormat divides timestamps of every resolution', () => {
  const at = (resolution: number, time: bigint) =>
    decodeAll(
      blocks(true, SECTION, interfaceBlock(1, [[9, 2], [1, 2], resolution, 0, 0, 0]), enhanced(0, time, [])),
    )[0];
  expect(at(0, 1_700_000_000n)).toBe('1700000000.0 if0 link1 0 []');
  expect(at(3, 1_700_000_000_123n)).toBe('1700000000.123000000 if0 link1 0 []');
  expect(at(9, 2n ** 64n - 1n)).toBe('18446744073.709551615 if0 link1 0 []');
  expect(at(12, 1_700_000_123_456_789_012n)).toBe('1700000.123456789 if0 link1 0 []');
  expect(at(0x80 + 10, (1_700_000_000n << 10n) + 512n)).toBe('1700000000.500000000 if0 link1 0 []');
});

test('PcapngFormat divides timestamps that jump, on several interfaces in turn', () => {
  const nano: Body = [[9, 2], [1, 2], 9, 0, 0, 0];
  const times = [0n, 2n ** 32n - 1n, 2n ** 32n, NANO, NANO + 2n ** 32n, 1n, 2n ** 63n + 12_345n, NANO];
  // One interface alone, then both in turn.
  const order = [
    ...times.map((time) => [0, time] as const),
    ...times.flatMap(
      (time) =>
        [
          [0, time],
          [1, time],
        ] as const,
    ),
  ];
  const packets = order.map(([id, time]) => enhanced(id, time, []));
  const lines = decodeAll(blocks(true, SECTION, interfaceBlock(1, nano), interfaceBlock(1), ...packets));
  const expected = order.map(([id, time]) => {
    const [units, each] = id === 0 ? [1_000_000_000n, 1n] : [1_000_000n, 1000n];
    return `${time / units}.${(time % units) * each} if${id} link1 0 []`;
  });
  expect(lines).toEqual(expected);
  // The same interface number and time in two sections with different clocks.
  const sections = blocks(
    true,
    SECTION,
    interfaceBlock(1, nano),
    packets[3],
    SECTION,
    interfaceBlock(1),
    packets[3],
  );
  expect(decodeAll(sections)).toEqual([
    '1700000000.123456789 if0 link1 0 []',
    '1700000000123.456789000 if0 link1 0 []',
  ]);
});

test('PcapngFormat refuses what contradicts itself, after the packets before it', () => {
  const good: [number, Body][] = [SECTION, interfaceBlock(1), enhanced(0, MICRO, [1])];
  const packet = '1700000000.123456000 if0 link1 1 [1]';
  expect(decodeAll(blocks(true, ...good, enhanced(1, MICRO, [])))).toEqual([packet, 'malformed']);
  expect(decodeAll(blocks(true, SECTION, enhanced(0, MICRO, [])))).toEqual(['malformed']);
  expect(decodeAll(blocks(true, SECTION, [3, [[5, 4], 1, 2]]))).toEqual(['malformed']);
  const long: [number, Body] = [6, [[0, 4], [0, 4], [0, 4], [9, 4], [9, 4], 1, 2, 3, 4]];
  expect(decodeAll(blocks(true, ...good, long))).toEqual([packet, 'malformed']);
  const otherLength = blocks(true, ...good);
  otherLength[otherLength.length - 4] ^= 4;
  expect(decodeAll(otherLength)).toEqual(['malformed']);
  const version2 = blocks(true, ...good, [
    0x0a0d0d0a,
    [
      [0x1a2b3c4d, 4],
      [2, 2],
      [0, 2],
      [0n, 8],
    ],
  ]);
  expect(decodeAll(version2)).toEqual([packet, 'version']);
  const noOrder = blocks(true, [
    0x0a0d0d0a,
    [
      [0x12345678, 4],
      [1, 2],
      [0, 2],
      [0n, 8],
    ],
  ]);
  expect(decodeAll(noOrder)).toEqual(['malformed']);
});

test('PcapngFormat skips a block of another type without storing it, however long it says it is', () => {
  const file = blocks(true, SECTION, interfaceBlock(1), [0x0bad, [1, 2, 3, 4]]);
  new DataView(file.buffer).setUint32(file.length - 12, 0xffff_fff0, true);
  const decoder = new CaptureDecoder();
  const batch = new PacketBatch();
  decoder.push(file);
  expect(decoder.next(batch)).toBe(false);
  const chunk = new Uint8Array(1 << 16);
  for (let i = 0; i < 100; i++) {
    decoder.push(chunk);
    expect(decoder.next(batch)).toBe(false);
  }
  expect(() => decoder.end()).toThrow(expect.objectContaining({ code: 'truncated' }));
});

test('PcapngFormat survives options that are damaged', () => {
  const options: Body = [[9, 2], [60_000, 2], 6, 0, 0, 0];
  const file = blocks(true, SECTION, interfaceBlock(1, options), enhanced(0, MICRO, [1]));
  expect(decodeAll(file)).toEqual(['1700000000.123456000 if0 link1 1 [1]']);
});

test('PcapngFormat allows 65,536 interfaces and refuses another one', () => {
  const head = blocks(true, SECTION);
  const one = blocks(true, interfaceBlock(1));
  const packet = blocks(true, enhanced(65_535, MICRO, [1]));
  const file = new Uint8Array(head.length + 65_537 * one.length + packet.length);
  file.set(head);
  for (let i = 0; i < 65_536; i++) file.set(one, head.length + i * one.length);
  file.set(packet, head.length + 65_536 * one.length);
  file.set(one, file.length - one.length);
  expect(decodeAll(file)).toEqual(['1700000000.123456000 if65535 link1 1 [1]', 'limit']);
});
