// A web service in Hono whose database is asked only for names that may exist. Scanners and typing
// mistakes ask for names that do not, and are answered from memory.

import { strict as assert } from 'node:assert';
import { guard, RebuiltFilter } from '@bloomery/stores/guard';
import { Hono } from 'hono';

const users = new Map(Array.from({ length: 1000 }, (_, at) => [`user-${at}`, { name: `User ${at}` }]));
let questions = 0;
async function findUser(name) {
  questions++;
  return users.get(name);
}

const filter = await RebuiltFilter.build({ source: () => users.keys(), everyMs: 600_000 });
const user = guard(findUser, { filter });

const app = new Hono();
app.get('/users/:name', async (context) => {
  const found = await user(context.req.param('name'));
  return found === undefined ? context.json({ error: 'no such user' }, 404) : context.json(found);
});
app.post('/users/:name', async (context) => {
  const name = context.req.param('name');
  users.set(name, { name });
  await user.add(name);
  return context.json({ name }, 201);
});

assert.equal((await app.request('/users/user-7')).status, 200);
for (let at = 0; at < 500; at++) assert.equal((await app.request(`/users/scan-${at}`)).status, 404);
assert.ok(questions < 30, `${questions} questions to the database`);
assert.equal((await app.request('/users/new', { method: 'POST' })).status, 201);
assert.equal((await app.request('/users/new')).status, 200);
console.log(`${user.stats().asked} requests, ${questions} questions to the database`);
filter.close();
