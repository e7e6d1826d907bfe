// npm run package:single [-- --node FILE] [-- --output FILE]: the command as one executable file
// for this platform, which needs no Node. The default output is build/bloomery.

import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { buildSingleExecutable } from './packaging/single-executable.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({
  options: { node: { type: 'string' }, output: { type: 'string', default: join(root, 'build/bloomery') } },
});
const output = resolve(values.output);
if (!existsSync(join(root, 'packages/cache/dist'))) {
  console.error('Cannot package the command: expected built packages, got none (npm run build makes them)');
  process.exit(2);
}
mkdirSync(dirname(output), { recursive: true });
const work = join(root, 'build/single');
await buildSingleExecutable({ root, node: resolve(values.node ?? process.execPath), output, work });
console.log(`${output}: ${Math.round(statSync(output).size / 1e6)} MB`);
