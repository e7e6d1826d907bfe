/**
 * `npm run bench:private`: what an attacker finds in shared filters, how far overlaps of randomised
 * filters are off, and what an intersection costs with libsodium and with noble-curves.
 *
 * The first two depend on seeds alone. Times are processor time of each side, medians of several
 * rounds. `npm run private-page` writes the pages and pictures from the results.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { attackRows } from './attack-rows.ts';
import { intersectionRows } from './intersection-rows.ts';
import { overlapRows } from './overlap-rows.ts';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: 'attack,overlap,intersection' },
    seeds: { type: 'string', default: '20' },
    rounds: { type: 'string', default: '5' },
  },
});
const FILE = fileURLToPath(new URL('../results/private.json', import.meta.url));
const wanted = options.only.split(',');
let results: Record<string, unknown> = {};
try {
  results = JSON.parse(readFileSync(FILE, 'utf8'));
} catch (error) {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
}
if (wanted.includes('attack')) results.attack = attackRows(Number(options.seeds));
if (wanted.includes('overlap')) results.overlap = overlapRows(10 * Number(options.seeds));
if (wanted.includes('intersection')) results.intersection = await intersectionRows(Number(options.rounds));
writeFileSync(FILE, `${JSON.stringify(results, null, 1)}\n`);
