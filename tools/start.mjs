// `npm start`: runs the HTTP cache with its defaults (a forward proxy for this machine, memory and
// disk). It makes a fresh clone ready first; a clone that is ready starts at once. All settings are
// shown by `npm start -- --help`.

import { fileURLToPath } from 'node:url';
import { setUp } from './setup.mjs';

const command = fileURLToPath(new URL('../apps/cli/bin/bloomery.js', import.meta.url));

setUp();
// The user's file names are relative to the folder where npm was called, not to the one where npm
// runs this.
process.chdir(process.env.INIT_CWD ?? process.cwd());
process.argv.splice(1, Number.POSITIVE_INFINITY, command, 'cache', ...process.argv.slice(2));
await import(command);
