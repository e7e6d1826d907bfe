import { withEffort } from '@bloomery/testkit/effort';
import { Random } from '@bloomery/testkit/statistics';
import { SecretKey } from 'bloomery';
import { expect, test } from 'vitest';
import { eachBatch, ipPacket, pcapOf, type TestPacket } from '../../test/loops/build-capture.ts';
import { LoopDetector, type LoopDetectorOptions } from './loop-detector.ts';

test('LoopDetector finds a packet that bounces over a link, from its third sighting on', () => {
  for (const version of [4, 6] as const) {
    const packets = bounce({ version, id: 7, timeS: 100, ttl: 64 });
    const { detector, rows } = detect(packets);
    expect(rows).toEqual(Array.from({ length: 62 }, (_, i) => i + 2));
    expect(detector.counts).toMatchObject({ packets: 64, looping: 62, rememberedS: Infinity });
    expect(detector.loops()).toEqual([
      {
        version,
        source: version === 4 ? [0x0a010101] : [0x20010db8, 0, 0, 1],
        destination: version === 4 ? [0x0a4d0009] : [0x20010db8, 0, 0, 9],
        prefixBits: version === 4 ? 32 : 128,
        packets: 1,
        sightings: 62,
        firstS: 100.002,
        lastS: expect.any(Number),
        highestTtl: 64,
        lowestTtl: 1,
        length: 2,
        turns: 31,
        expired: 0,
      },
    ]);
  }
});

test('LoopDetector tells the length of a longer loop, and gathers destinations by prefix', () => {
  const packets: TestPacket[] = [];
  for (const destination of [8, 9, 11])
    for (let ttl = 60; ttl > 0; ttl -= 5)
      packets.push({ id: destination, destination, ttl, timeS: 60 - ttl / 10 });
  for (let ttl = 60; ttl > 0; ttl -= 3) packets.push({ id: 1, network: 3, ttl, timeS: 55 });
  const { detector } = detect(packets);
  expect(
    detector.loops().map((loop) => [loop.destination, loop.prefixBits, loop.length, loop.packets]),
  ).toEqual([
    [[0x0a4d0008], 30, 5, 3],
    [[0x0a4d0309], 32, 3, 1],
  ]);
});

test('LoopDetector ignores what routers change, and takes everything else for another packet', () => {
  const falling = (change: (ttl: number) => Partial<TestPacket>) =>
    [64, 62, 60, 58].map((ttl) => ({ id: 5, ttl, timeS: ttl / 64, ...change(ttl) }));
  const found = (packets: TestPacket[]) => detect(packets).detector.loopCount;
  for (const version of [4, 6] as const) {
    expect(found(falling(() => ({ version })))).toBe(1);
    expect(found(falling((ttl) => ({ version, service: ttl })))).toBe(1);
    expect(found(falling((ttl) => ({ version, id: ttl })))).toBe(0);
    expect(found(falling((ttl) => ({ version, source: ttl })))).toBe(0);
    expect(found(falling((ttl) => ({ version, payload: new Uint8Array(90).fill(ttl, 89) })))).toBe(0);
  }
  // Options record the route, so they change.
  expect(found(falling((ttl) => ({ options: Uint8Array.of(7, 7, 4, 10, 0, 0, ttl, 0) })))).toBe(1);
  // Bytes beyond the limit of the digest do not count.
  expect(found(falling((ttl) => ({ payload: new Uint8Array(98).fill(ttl, 97) })))).toBe(1);
});

test('LoopDetector does not take forwarding, copies, traceroute or another way for a loop', () => {
  const same = (...ttls: number[]) => ttls.map((ttl, i) => ({ id: 5, ttl, timeS: i / 10 }));
  expect(detect(same(64, 63)).rows).toEqual([]);
  expect(detect(same(64, 64, 63, 63)).rows).toEqual([]);
  expect(detect(same(1, 1, 1, 2, 2, 2, 3, 3, 3, 30, 30)).rows).toEqual([]);
  expect(detect(same(64, 60, 64, 60, 64, 60)).rows).toEqual([]);
  expect(detect(same(64, 60, 64, 60), { levels: 2 }).rows).toEqual([1, 3]);
});

test('LoopDetector counts messages about expired packets with the loop that they quote', () => {
  const packets = bounce({ id: 7, timeS: 100, ttl: 8 });
  const about = (quoted: TestPacket) =>
    Uint8Array.from([11, 0, 0, 0, 0, 0, 0, 0, ...ipPacket({ ...quoted, ttl: 1 }).subarray(0, 28)]);
  const message = { protocol: 1, ttl: 64, timeS: 101, source: 20, destination: 1, network: 1 };
  packets.push({ ...message, id: 50, payload: about(packets[0]!) });
  packets.push({ ...message, id: 51, payload: about({ ...packets[0]!, network: 200 }) });
  const { detector, rows } = detect(packets);
  expect(rows).toEqual([2, 3, 4, 5, 6, 7]);
  expect(detector.counts).toMatchObject({ looping: 6, expired: 2 });
  expect(detector.loops()).toMatchObject([{ expired: 1, packets: 1 }]);
});

test('LoopDetector forgets a packet after the window, and remembers one that goes on looping', () => {
  const slow = (stepS: number) =>
    [60, 58, 56, 54, 52].map((ttl, i) => ({ id: 1, ttl, timeS: 10 + i * stepS }));
  expect(detect(slow(9)).rows).toEqual([2, 3, 4]);
  expect(detect(slow(21)).rows).toEqual([]);
  expect(detect(slow(21), { windowS: 60 }).rows).toEqual([2, 3, 4]);
});

test('LoopDetector finds a loop although another interface has a clock that is a minute off', () => {
  const packets: TestPacket[] = [];
  for (const [i, ttl] of [60, 58, 56, 54, 52].entries())
    packets.push({ id: 1, ttl, timeS: 100 + i }, { id: 900 + i, ttl: 64, timeS: 160 + i });
  // The first jump forgets the first packet, and the next ones do not.
  expect(detect(packets).rows).toEqual([6, 8]);
  // A capture that follows an earlier one, and begins long before it.
  const noise = (count: number, timeS: number): TestPacket[] =>
    Array.from({ length: count }, (_, i) => ({ id: i, source: 7, ttl: 64, timeS }));
  const second = [...noise(1500, 1000), { id: 1, ttl: 60, timeS: 1001 }, { id: 1, ttl: 58, timeS: 1020 }];
  expect(detect([...noise(10, 5000), ...second, { id: 1, ttl: 56, timeS: 1041 }]).rows).toEqual([]);
});

test('LoopDetector does not clear its whole memory for each packet of a clock that jumps', () => {
  // Each jump forgets everything. To clear 256 MiB for each of 4000 packets would take minutes.
  const packets = Array.from({ length: 4000 }, (_, i) => ({ id: i, ttl: 64, timeS: 1000 * i }));
  expect(detect(packets, { memoryBytes: 2 ** 28 }).detector.counts.packets).toBe(4000);
}, 20_000);

test('LoopDetector takes memory by the bytes that there are, not by the longest payload', () => {
  const packets = Array.from({ length: 3000 }, (_, id) => ({ id, ttl: 64, timeS: 1 }));
  const before = process.memoryUsage().arrayBuffers;
  const { detector } = detect(packets, { payloadBytes: 65_535, memoryBytes: 2 ** 16 });
  expect(detector.counts.packets).toBe(3000);
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2 ** 26);
});

test('LoopDetector agrees with a table of all packets, in batches of any size', () => {
  const random = new Random(6);
  for (let round = 0; round < withEffort(30, 6); round++) {
    const packets: TestPacket[] = [];
    for (let i = 0; i < 400; i++) {
      const version = random.pick([4, 6] as const);
      packets.push({
        version,
        id: random.below(60),
        ttl: 1 + random.below(12),
        timeS: i / 1000,
        network: random.below(2),
      });
    }
    const { detector, rows } = detect(packets, { memoryBytes: 2 ** 20 }, 1 + random.below(50));
    expect(rows).toEqual(loopsByMap(packets));
    const { packets: looked, looping } = detector.counts;
    expect([looked, looping]).toEqual([400, rows.length]);
    expect(detector.loops().reduce((sum, { sightings }) => sum + sightings, 0)).toBe(looping);
  }
});

test('a full table forgets the oldest packets, and says how long it remembered', () => {
  // 32 KiB are 1024 slots, of which 768 are used before the oldest packets go.
  const memoryBytes = 32 * 1024;
  const noise = (from: number, count: number): TestPacket[] =>
    Array.from({ length: count }, (_, i) => ({
      id: from + i,
      ttl: 64,
      timeS: 1 + (from + i) / 1e4,
      source: 3,
    }));
  const looping = (ttl: number, timeS: number): TestPacket => ({ id: 1, ttl, timeS });
  const between = (count: number) => [
    looping(64, 1),
    ...noise(0, count),
    looping(62, 1.15),
    ...noise(20_000, count),
    looping(60, 3.15),
  ];
  const kept = detect(between(700), { memoryBytes });
  expect(kept.rows).toEqual([1402]);
  const lost = detect(between(1600), { memoryBytes });
  expect(lost.rows).toEqual([]);
  expect(lost.detector.counts.rememberedS).toBeLessThan(0.1);
  expect(() => new LoopDetector({ memoryBytes: 1000 })).toThrow('Cannot make a table of sightings');
});

test('a secret key changes the digests and not the answer', () => {
  const key = new SecretKey(new Uint8Array(16).fill(3));
  const packets = bounce({ id: 7, timeS: 100, ttl: 64 });
  expect(detect(packets, { key }).rows).toEqual(detect(packets).rows);
});

test('LoopDetector refuses wrong options', () => {
  expect(() => new LoopDetector({ levels: 1 })).toThrow(
    'Cannot use levels: expected an integer from 2 to 127, got 1',
  );
  expect(() => new LoopDetector({ ipv4Bits: 33 })).toThrow('Cannot use ipv4Bits');
  expect(() => new LoopDetector({ windowS: 0 })).toThrow('a window above 0');
});

/** A packet that two routers send to each other until its TTL is used up. */
function bounce(packet: TestPacket): TestPacket[] {
  return Array.from({ length: packet.ttl }, (_, i) => ({
    ...packet,
    ttl: packet.ttl - i,
    timeS: packet.timeS + i / 1000,
    isBack: i % 2 === 1,
  }));
}

function detect(packets: readonly TestPacket[], options?: LoopDetectorOptions, capacity?: number) {
  const detector = new LoopDetector(options);
  const rows: number[] = [];
  let before = 0;
  eachBatch(
    pcapOf(packets),
    (batch, headers) => {
      for (const row of detector.take(batch, headers)) rows.push(before + row);
      before += batch.count;
    },
    capacity,
  );
  return { detector, rows };
}

/** The rule by the words of its description, with a map of everything. */
function loopsByMap(packets: readonly TestPacket[]): number[] {
  const seen = new Map<string, number[]>();
  const rows: number[] = [];
  for (const [row, { version, id, network, ttl }] of packets.entries()) {
    const key = `${version} ${id} ${network}`;
    const ttls = seen.get(key) ?? [];
    seen.set(key, ttls);
    if (ttls.every((earlier) => ttl < earlier)) ttls.push(ttl);
    if (ttls[0]! - ttl >= 2 && ttls.length >= 3) rows.push(row);
  }
  return rows;
}
