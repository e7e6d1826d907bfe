// `npm run demo`: sets a fresh clone up, then runs the demonstration.

import { setUp, step } from './setup.mjs';

setUp();
step('two nodes, one summary', 'node', ['examples/summary-over-http.mjs']);
