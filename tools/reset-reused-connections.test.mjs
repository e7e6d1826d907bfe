import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const reset = new URL('reset-reused-connections.mjs', import.meta.url).href;
const run = (/** @type {string[]} */ ...args) =>
  spawnSync(process.execPath, ['--import', reset, ...args], { encoding: 'utf8' });

test('reset-reused-connections.mjs lets the first request of a connection pass and resets the second', () => {
  const program = `
    import { createServer, get } from 'node:http';
    const server = createServer((request, response) => response.end()).listen(0, '127.0.0.1', ask);
    function ask() {
      const request = get({ port: server.address().port, host: '127.0.0.1' }, (response) => {
        console.log(response.statusCode);
        response.resume().on('close', () => setImmediate(ask));
      });
      request.on('error', (error) => {
        console.log(request.reusedSocket, error.code);
        server.close();
      });
    }`;
  expect(run('--input-type=module', '--eval', program).stdout).toBe('200\ntrue ECONNRESET\n');
});

const examples = new URL('../examples/', import.meta.url);
const overHttp = readdirSync(examples).filter((name) =>
  readFileSync(new URL(name, examples), 'utf8').includes("from 'node:http'"),
);

test.each(overHttp)('examples/%s does not depend on a connection that stays open', (name) => {
  const { status, stderr } = run(fileURLToPath(new URL(name, examples)));
  expect([status, stderr]).toEqual([0, '']);
});
