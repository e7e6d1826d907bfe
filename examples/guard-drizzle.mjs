// A filter in front of a table that Drizzle asks: SQLite in memory here, any database in practice.
// The filter is built from one column, read page by page.

import { strict as assert } from 'node:assert';
import { guard, RebuiltFilter } from '@bloomery/stores/guard';
import { createClient } from '@libsql/client';
import { asc, eq, gt } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/libsql';
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';

const coupons = sqliteTable('coupons', {
  id: integer('id').primaryKey(),
  code: text('code').notNull().unique(),
  percent: integer('percent').notNull(),
});
const client = createClient({ url: ':memory:' });
await client.execute(
  'create table coupons (id integer primary key, code text not null unique, percent integer not null)',
);
const db = drizzle(client);
for (let at = 0; at < 2000; at += 500) {
  const rows = Array.from({ length: 500 }, (_, i) => ({ code: `CODE-${at + i}`, percent: 10 }));
  await db.insert(coupons).values(rows);
}

async function* allCodes() {
  let last = 0;
  for (;;) {
    const page = await db
      .select()
      .from(coupons)
      .where(gt(coupons.id, last))
      .orderBy(asc(coupons.id))
      .limit(500);
    if (page.length === 0) return;
    for (const { id, code } of page) {
      last = id;
      yield code;
    }
  }
}

const filter = await RebuiltFilter.build({ source: allCodes, falsePositiveRate: 0.001, everyMs: 3_600_000 });
const findCoupon = guard(async (code) => (await db.select().from(coupons).where(eq(coupons.code, code)))[0], {
  filter,
});

assert.equal((await findCoupon('CODE-42')).percent, 10);
for (let at = 0; at < 1000; at++) assert.equal(await findCoupon(`GUESS-${at}`), undefined);
const { saved, trueHits } = findCoupon.stats();
assert.equal(trueHits, 1);
assert.ok(saved > 980);

// A new row is in the filter when its insertion has committed.
await db.insert(coupons).values({ code: 'SPRING', percent: 20 });
await findCoupon.add('SPRING');
assert.equal((await findCoupon('SPRING')).percent, 20);
console.log(`${saved} of 1,000 guesses did not reach the database`);
filter.close();
client.close();
