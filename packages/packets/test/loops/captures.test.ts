/**
 * Real captures: the recorded loop is found, and nothing else is taken for one. The files are not
 * in the repository. BLOOMERY_DATA names the folder whose `captures` holds them; without it these
 * tests are skipped, and say so.
 */

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { HeaderBatch } from '../../src/capture/headers/header-batch.ts';
import { HeaderDecoder } from '../../src/capture/headers/header-decoder.ts';
import { openCapture } from '../../src/capture/node/open-capture.ts';
import { PacketBatch } from '../../src/capture/packet-batch.ts';
import { readBatches } from '../../src/capture/reading/read-batches.ts';
import { LoopDetector } from '../../src/loops/loop-detector.ts';

const DATA = process.env.BLOOMERY_DATA;
const folder = join(DATA ?? '', 'captures');
const isThere = DATA !== undefined && existsSync(folder);
const RECORDED = 'own-routing-loop.pcap';

describe.skipIf(!isThere)(
  `real captures${isThere ? '' : ' (skipped: BLOOMERY_DATA names no folder with captures)'}`,
  () => {
    test('the recorded routing loop is found: 620 of 640 sightings of 10 packets, 2 hops', async () => {
      const detector = await detect(RECORDED);
      expect(detector.counts).toMatchObject({ packets: 650, looping: 620 });
      expect(detector.loops()).toMatchObject([
        { packets: 10, sightings: 620, turns: 310, length: 2, highestTtl: 64, lowestTtl: 1, prefixBits: 32 },
      ]);
    });

    test('no other capture has a loop', async () => {
      const names = readdirSync(folder).filter(
        (name) => /\.pcap(ng)?(\.gz)?$/.test(name) && name !== RECORDED,
      );
      expect(names.length).toBeGreaterThanOrEqual(15);
      for (const name of names) {
        const detector = await detect(name);
        expect(detector.counts.packets, name).toBeGreaterThan(0);
        expect(detector.loops(), name).toEqual([]);
      }
    });
  },
);

async function detect(name: string): Promise<LoopDetector> {
  const detector = new LoopDetector();
  const batch = new PacketBatch();
  const headers = new HeaderBatch(batch.capacity);
  const decoder = new HeaderDecoder();
  for await (const one of readBatches(openCapture(join(folder, name)), { batch })) {
    decoder.decode(one, headers);
    detector.take(one, headers);
  }
  return detector;
}
