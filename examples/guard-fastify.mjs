// A login in Fastify whose database is asked only for names that may exist. Bots try long lists of
// names, and these are answered from memory. The secret key keeps a bot from choosing names that
// pass the filter.

import { strict as assert } from 'node:assert';
import { randomBytes } from 'node:crypto';
import { guard, RebuiltFilter } from '@bloomery/stores/guard';
import { SecretKey } from 'bloomery';
import Fastify from 'fastify';

const accounts = new Map(
  Array.from({ length: 1000 }, (_, at) => [`user-${at}`, { mail: `${at}@example.org` }]),
);
let questions = 0;
async function findAccount(name) {
  questions++;
  return accounts.get(name);
}

const filter = await RebuiltFilter.build({
  source: () => accounts.keys(),
  everyMs: 600_000,
  key: new SecretKey(randomBytes(16)),
});
const account = guard(findAccount, { filter });

const app = Fastify();
app.addHook('onClose', async () => filter.close());
app.get('/accounts/:name', async (request, reply) => {
  const found = await account(request.params.name);
  return found ?? reply.code(404).send({ error: 'no such account' });
});
app.put('/accounts/:name', async (request, reply) => {
  accounts.set(request.params.name, { mail: request.body.mail });
  await account.add(request.params.name); // after the insertion has committed
  return reply.code(201).send();
});

const ask = (name) => app.inject({ url: `/accounts/${name}` });
assert.equal((await ask('user-7')).json().mail, '7@example.org');
for (let at = 0; at < 500; at++) assert.equal((await ask(`bot-${at}`)).statusCode, 404);
assert.ok(questions < 30, `${questions} questions to the database`);
const made = await app.inject({ method: 'PUT', url: '/accounts/new', payload: { mail: 'new@example.org' } });
assert.equal(made.statusCode, 201);
assert.equal((await ask('new')).json().mail, 'new@example.org');
console.log(`${account.stats().asked} requests, ${questions} questions to the database`);
await app.close();
