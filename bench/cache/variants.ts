/**
 * `npm run bench:variants`: how long requests wait that differ in a field of Vary and come at the
 * same moment. The origin takes 500 ms for each answer, and the wanted times are multiples of that:
 * twice for requests that come while it is not known that the key varies (one flight tells it, a
 * second one for each variant follows), once when it is known.
 *
 * The load and the origin share this process; the node has its own.
 */

import { writeFileSync } from 'node:fs';
import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { availableParallelism, cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { median } from '../shared/statistics.ts';
import { bloomeryNode } from './servers.ts';

const HELP = `npm run bench:variants -- [options]

  --rounds N         rounds (7)
  --variants N       values of the field (64)
  --delay MS         the time that the origin takes (500)
  --markdown FILE    write the table
  --help`;

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '7' },
    variants: { type: 'string', default: '64' },
    delay: { type: 'string', default: '500' },
    markdown: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const ROUNDS = Number(options.rounds);
const VARIANTS = Number(options.variants);
const DELAY_MS = Number(options.delay);

interface Row {
  readonly name: string;
  readonly wanted: string;
  /** Medians and maxima of each round, in ms, and fetches from the origin. */
  readonly medians: number[];
  readonly slowest: number[];
  readonly fetches: number[];
}

async function main(): Promise<void> {
  if (options.help) {
    console.log(HELP);
    return;
  }
  let fetches = 0;
  const origin = createServer((req, res) => {
    if (!req.url!.startsWith('/n/')) fetches++;
    setTimeout(() => {
      res.writeHead(200, { 'cache-control': 'max-age=60', vary: 'accept-language' });
      res.end(`in ${req.headers['accept-language']}\n`);
    }, DELAY_MS);
  });
  await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve));
  const { port } = origin.address() as AddressInfo;
  const node = await bloomeryNode({ origin: `http://127.0.0.1:${port}`, memory: '64MB' });
  const agent = new Agent({ keepAlive: true });
  const rows: Row[] = [
    { name: 'not known that the key varies', wanted: '2.3', medians: [], slowest: [], fetches: [] },
    { name: 'known', wanted: '1.3', medians: [], slowest: [], fetches: [] },
    { name: 'one value', wanted: '', medians: [], slowest: [], fetches: [] },
  ];
  const values = Array.from({ length: VARIANTS }, (_, index) => `x-${index}`);
  const measure = async (row: Row, path: string, languages: readonly string[]): Promise<void> => {
    const before = fetches;
    const times = await Promise.all(languages.map((language) => ask(agent, node.url + path, language)));
    row.medians.push(median(times));
    row.slowest.push(Math.max(...times));
    row.fetches.push(fetches - before);
  };
  try {
    for (let round = 0; round < ROUNDS; round++) {
      process.stderr.write(`round ${round + 1}\n`);
      await measure(rows[0]!, `/unknown/${round}`, values);
      await ask(agent, `${node.url}/known/${round}`, 'first');
      await measure(rows[1]!, `/known/${round}`, values);
      await measure(rows[2]!, `/plain/${round}`, new Array(VARIANTS).fill('one'));
    }
  } finally {
    agent.destroy();
    await node.stop();
    origin.closeAllConnections();
    origin.close();
  }
  const text = table(rows);
  console.log(text);
  if (options.markdown !== undefined) writeFileSync(options.markdown, `${text}\n`);
}

/** Asks in a language, and returns the time to the end of the answer in ms. */
function ask(agent: Agent, url: string, language: string): Promise<number> {
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent, headers: { 'accept-language': language } }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (chunk: string) => {
        text += chunk;
      });
      answer.on('end', () => {
        if (text === `in ${language}\n`) resolve(performance.now() - began);
        else reject(new Error(`Cannot measure: expected an answer in ${language}, got ${text} (${url})`));
      });
    });
    asked.on('error', reject);
    asked.end();
  });
}

function table(rows: readonly Row[]): string {
  const times = (values: readonly number[]) => (median(values) / DELAY_MS).toFixed(2);
  return [
    '# Requests that differ in a field of Vary',
    '',
    `Made by \`npm run bench:variants\`: ${VARIANTS} requests at the same moment, an origin that takes ${DELAY_MS} ms, ${ROUNDS} rounds.`,
    `Times are multiples of the origin's time, medians over the rounds. ${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} cores, Node ${process.version}.`,
    '',
    '| requests | median | slowest | wanted | fetches |',
    '|---|---:|---:|---:|---:|',
    ...rows.map(
      ({ name, wanted, medians, slowest, fetches }) =>
        `| ${name} | ${times(medians)} | ${times(slowest)} | ${wanted} | ${median(fetches)} |`,
    ),
  ].join('\n');
}

await main();
