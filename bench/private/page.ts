/**
 * `npm run private-page -- --write`: writes bench/results/private.md, the tables of
 * docs/guide/private.md and the pictures beside it from bench/results/private.json, which `npm run
 * bench:private` writes. Without `--write` it compares, and the exit code is 1 if they differ.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { svgFile } from '@bloomery/papers/drawing';
import { keepPart } from '../../tools/written-part.mjs';
import { attackPlot } from './attack-plot.ts';
import { type AttackResults, STEPS } from './attack-rows.ts';
import { intersectionPicture } from './intersection-picture.ts';
import type { IntersectionResults } from './intersection-rows.ts';
import type { OverlapRow } from './overlap-rows.ts';

interface Results {
  readonly attack: AttackResults;
  readonly overlap: readonly OverlapRow[];
  readonly intersection: IntersectionResults;
}

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const results: Results = JSON.parse(readFileSync(at('../results/private.json'), 'utf8'));
const write = process.argv.includes('--write');

const row = (...cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`;
const count = (value: number) => Math.round(value).toLocaleString('en');
const few = (value: number) => (value >= 10 ? count(value) : value.toFixed(1));

/** Suspects and contacts among them, by the number of filters that the attacker has. */
function attackTable({ rows }: AttackResults): string[] {
  const scenes = [...new Set(rows.map(({ scene }) => scene))];
  return [
    row('way to share', ...STEPS.map((step) => `${step}`)),
    row('---', ...STEPS.map(() => '---:')),
    ...scenes.map((scene) =>
      row(
        scene,
        ...STEPS.map((step) => {
          const { suspects, found } =
            rows.find((each) => each.scene === scene && each.intercepted === step) ?? fail();
          return `${few(suspects.mean)} / ${few(found.mean)}`;
        }),
      ),
    ),
  ];
}

/** Contacts among the 200 best guesses. */
function bestTable({ rows }: AttackResults): string[] {
  const scenes = [...new Set(rows.map(({ scene }) => scene))];
  return [
    row('way to share', ...STEPS.map((step) => `${step}`)),
    row('---', ...STEPS.map(() => '---:')),
    ...scenes.map((scene) =>
      row(
        scene,
        ...STEPS.map((step) => {
          const { best } = rows.find((each) => each.scene === scene && each.intercepted === step) ?? fail();
          return `${few(best.mean)} ± ${best.sd.toFixed(1)}`;
        }),
      ),
    ),
  ];
}

function overlapTable(rows: readonly OverlapRow[]): string[] {
  const epsilons = [...new Set(rows.map(({ epsilon }) => epsilon))];
  const shapes = [
    ...new Set(rows.map(({ bits, hashes }) => `${bits} bits, ${hashes} ${hashes === 1 ? 'hash' : 'hashes'}`)),
  ];
  return [
    row('filter', ...epsilons.map((epsilon) => `ε = ${epsilon}`)),
    row('---', ...epsilons.map(() => '---:')),
    ...shapes.map((shape) => {
      const cells = rows.filter(({ bits, hashes }) => shape.startsWith(`${bits} bits, ${hashes} `));
      return row(
        shape,
        ...cells.map(({ error, flipProbability, without }) => {
          const none = without > 0.005 ? `; none in ${Math.round(100 * without)} %` : '';
          return `${few(error.mean)} (${(100 * flipProbability).toFixed(flipProbability < 0.01 ? 2 : 0)} % flipped${none})`;
        }),
      );
    }),
  ];
}

function libraryTable({ libraries }: IntersectionResults): string[] {
  return [
    row('library', 'multiplication', 'hash to a point', 'code, minified', 'gzip'),
    row('---', '---:', '---:', '---:', '---:'),
    ...libraries.map(({ library, multiplyMs, elementMs, bytes, gzipBytes }) =>
      row(
        library,
        `${multiplyMs.toFixed(3)} ms`,
        `${elementMs.toFixed(3)} ms`,
        `${kilo(bytes)} kB`,
        `${kilo(gzipBytes)} kB`,
      ),
    ),
  ];
}

function sessionTable({ sessions }: IntersectionResults): string[] {
  return [
    row(
      'library',
      'keys per side',
      'reveals',
      'CPU of the initiator',
      'CPU of the responder',
      'bytes there',
      'bytes back',
    ),
    row('---', '---:', '---', '---:', '---:', '---:', '---:'),
    ...sessions.map((session) =>
      row(
        session.library,
        count(session.size),
        session.reveals,
        `${(session.initiatorMs / 1000).toFixed(3)} s`,
        `${(session.responderMs / 1000).toFixed(3)} s`,
        count(session.bytesToResponder),
        count(session.bytesToInitiator),
      ),
    ),
  ];
}

const kilo = (bytes: number) => Math.round(bytes / 1000);

function fail(): never {
  throw new Error('Cannot write the page: expected a row for every scene, got none');
}

const { attack, overlap, intersection } = results;
const measured = `Processor time, median of ${intersection.rounds} rounds, Node ${intersection.node}, load of the machine ${intersection.load}.`;
const report = [
  '# Private sharing',
  '',
  'Written by `npm run bench:private` and `npm run private-page -- --write`.',
  '',
  '## The dictionary attack: suspects / contacts among them',
  '',
  `200 contacts, a dictionary of 100,000 addresses with all of them, by the number of filters that the attacker has. Means of ${attack.seeds} seeds.`,
  '',
  ...attackTable(attack),
  '',
  '## Contacts among the 200 best guesses of the attacker',
  '',
  'Means and standard deviations of one run.',
  '',
  ...bestTable(attack),
  '',
  '## Overlap by a randomised filter: mean absolute error, in keys',
  '',
  'Two sets of 200 keys with 100 in common. One is known exactly, the other one is a randomised filter.',
  '',
  ...overlapTable(overlap),
  '',
  '## Intersections: libraries',
  '',
  measured,
  '',
  ...libraryTable(intersection),
  '',
  '## Intersections: sessions',
  '',
  'Half of the keys are common. The time is that of each side alone.',
  '',
  ...sessionTable(intersection),
  '',
].join('\n');

const parts = {
  attack: attackTable(attack),
  best: bestTable(attack),
  overlap: overlapTable(overlap),
  libraries: [...libraryTable(intersection), '', measured],
  sessions: sessionTable(intersection),
};
for (const [name, lines] of Object.entries(parts)) {
  const kept = keepPart({
    page: at('../../docs/guide/private.md'),
    begin: `<!-- written by bench/private: ${name} -->`,
    end: `<!-- end: ${name} -->`,
    text: lines.join('\n'),
    tool: 'bench/private/page.ts',
  });
  if (!kept) process.exitCode = 1;
}
if (write) {
  writeFileSync(at('../results/private.md'), report);
  writeFileSync(at('../../docs/guide/figures/private-attack.svg'), svgFile(attackPlot(attack)));
  writeFileSync(at('../../docs/guide/figures/private-intersection.svg'), intersectionPicture());
}
