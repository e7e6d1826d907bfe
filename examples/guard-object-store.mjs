// Asks an object store whether it has a file, by HEAD requests, and asks only where a filter says
// maybe. Build caches ask such questions millions of times, mostly for what is not there.

import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { guard, RebuiltFilter } from '@bloomery/stores/guard';

// A store of 1,000 objects, with the two requests of S3 that matter here: a listing in pages
// (ListObjectsV2) and HEAD.
const objects = new Set(Array.from({ length: 1000 }, (_, at) => `blob-${at}`));
let requests = 0;
const server = createServer((request, response) => {
  response.setHeader('Connection', 'close'); // a request on a kept connection can meet its closing
  const { pathname, searchParams } = new URL(request.url, 'http://store');
  if (searchParams.get('list-type') === '2') {
    const from = Number(searchParams.get('continuation-token') ?? 0);
    const page = [...objects]
      .slice(from, from + 300)
      .map((name) => `<Contents><Key>${name}</Key></Contents>`);
    const next =
      from + 300 < objects.size ? `<NextContinuationToken>${from + 300}</NextContinuationToken>` : '';
    response.end(`<ListBucketResult>${page.join('')}${next}</ListBucketResult>`);
    return;
  }
  requests++;
  response.statusCode = objects.has(pathname.slice(1)) ? 200 : 404;
  response.end();
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const base = `http://127.0.0.1:${server.address().port}`;

// The filter is built from the listing of the store, and again every hour. A client of the store
// does the same by its paginator.
async function* allNames({ signal }) {
  let token;
  do {
    const after = token === undefined ? '' : `&continuation-token=${token}`;
    const xml = await (await fetch(`${base}/?list-type=2${after}`, { signal })).text();
    for (const [, name] of xml.matchAll(/<Key>(.*?)<\/Key>/g)) yield name;
    token = /<NextContinuationToken>(.*?)</.exec(xml)?.[1];
  } while (token !== undefined);
}
const filter = await RebuiltFilter.build({
  source: allNames,
  falsePositiveRate: 0.01,
  everyMs: 3_600_000,
});
assert.equal(filter.status().keys, 1000);

const hasObject = guard(
  async (name) => {
    const { status } = await fetch(`${base}/${name}`, { method: 'HEAD' });
    return status === 200 ? true : undefined;
  },
  { filter },
);

for (let at = 0; at < 100; at++) assert.equal(await hasObject(`blob-${at}`), true);
for (let at = 0; at < 900; at++) assert.equal(await hasObject(`absent-${at}`), undefined);

const { asked, saved, trueHits, falseHits } = hasObject.stats();
assert.equal(asked, 1000);
assert.equal(trueHits, 100);
assert.equal(requests, 100 + falseHits);
assert.ok(saved > 850);
console.log(`${requests} requests instead of ${asked}: ${saved} were saved`);

// An upload goes to the store first, then to the filter.
objects.add('blob-new');
await hasObject.add('blob-new');
assert.equal(await hasObject('blob-new'), true);

filter.close();
server.close();
