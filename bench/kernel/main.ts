/**
 * `npm run bench:kernel`: the parts that a lookup consists of, one by one, for those who work on
 * the library's hot paths. Each part runs in a process of its own (see filters/lanes.ts for why),
 * one after the other.
 */

import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { compileForNode } from '../shared/compile.ts';
import { asText, type Table } from '../shared/report.ts';

const PARTS = ['text', 'hash wasm', 'hash javascript', 'probe wasm', 'probe javascript', 'residency'];

const { values: options } = parseArgs({
  options: { only: { type: 'string' }, help: { type: 'boolean', default: false } },
});

if (options.help) {
  console.log(`npm run bench:kernel -- [--only PATTERN]\n\nParts: ${PARTS.join(', ')}`);
} else {
  const program = await compileForNode('kernel/parts');
  const pattern = new RegExp(options.only ?? '');
  for (const part of PARTS.filter((name) => pattern.test(name))) {
    process.stderr.write(`measuring: ${part}\n`);
    const child = spawnSync(process.execPath, [program, part], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (child.status !== 0) throw new Error(`${part} ended with status ${child.status}`);
    console.log(asText(JSON.parse(child.stdout) as Table));
  }
}
