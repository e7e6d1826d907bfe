// deploy/Containerfile, by its text. The base image cannot be pulled everywhere, so no test builds
// it; `npm run image:check` does.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { containerfileProblems, parseContainerfile, settingsOfImage } from './containerfile.mjs';

const text = readFileSync(fileURLToPath(new URL('../../deploy/Containerfile', import.meta.url)), 'utf8');

test('the Containerfile keeps our rules and fits the settings of the cache', () => {
  expect(containerfileProblems(parseContainerfile(text))).toEqual([]);
  expect(settingsOfImage(parseContainerfile(text)).port('listen')).toBe(3128);
});

test.each([
  ['USER 1000:1000\n', '', 'USER is not set, expected two numbers that are not root'],
  ['USER 1000:1000', 'USER 0:0', 'USER is 0:0, expected two numbers that are not root'],
  ['USER 1000:1000', 'USER node', 'USER is node, expected two numbers that are not root'],
  [':22-bookworm-slim', ':latest', 'the image docker.io/library/node:latest has no tag of a version'],
  [':22-bookworm-slim', '', 'the image docker.io/library/node has no tag of a version'],
  ['EXPOSE 3128', 'EXPOSE 8080', 'EXPOSE is 8080 3129, expected 3128 3129'],
  ['LISTEN=0.0.0.0:3128', 'LISTEN=0.0.0.0:80', 'EXPOSE is 3128 3129, expected 80 3129'],
  ['/ready', '/redy', 'HEALTHCHECK does not ask http://127.0.0.1:3128/.bloomery/ready'],
  ['VOLUME /var/cache', 'VOLUME /srv', 'the disk store is not below VOLUME'],
  ['STOPSIGNAL SIGTERM', 'STOPSIGNAL SIGKILL', 'STOPSIGNAL is not SIGTERM'],
  ['CACHE_DISK=', 'CACHE_DISC=', 'BLOOMERY_CACHE_DISC is no setting of the cache'],
  ['COPY bloomery-*.tgz', 'COPY .', 'COPY . /tmp/: expected the packed package alone'],
  [
    'ENTRYPOINT ["bloomery", "cache", "--quiet"]',
    'ENTRYPOINT bloomery cache',
    'ENTRYPOINT is not the list of bloomery cache, so a shell would get its signals',
  ],
  [
    'COPY bloomery-*.tgz',
    'ADD https://example.org/a.tgz',
    'ADD https://example.org/a.tgz /tmp/: expected COPY, which takes no URL and unpacks nothing',
  ],
  ['ENV B', 'ENV NPM_TOKEN=x B', /^ENV NPM_TOKEN=x .*would keep a secret in a layer$/],
  ['RUN npm', 'RUN curl https://example.org/ && npm', /^RUN curl .*fetches from the network$/],
])('a Containerfile with a fault in %j is refused', (found, fault, problem) => {
  expect(text).toContain(found);
  const problems = containerfileProblems(parseContainerfile(text.replace(found, fault)));
  expect(problems).toContainEqual(problem instanceof RegExp ? expect.stringMatching(problem) : problem);
});

test.each([
  [200, 0],
  [503, 1],
])('the health check ends, when the node answers %i, with exit code %i', async (status, code) => {
  const { server, port } = await startServer(status);
  expect(await healthCheck(port)).toBe(code);
  server.close();
});

test('the health check fails when no node listens', async () => {
  const { server, port } = await startServer(200);
  server.close();
  await once(server, 'close');
  expect(await healthCheck(port)).toBe(1);
});

/**
 * A node as the health check sees it: ready for its endpoint alone, with this status.
 * @param {number} status
 */
async function startServer(status) {
  const server = createServer(({ url }, response) => {
    response.writeHead(url === '/.bloomery/ready' ? status : 404).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return { server, port };
}

/**
 * Runs the command of the health check with another port.
 * @param {number} port
 */
async function healthCheck(port) {
  const line = parseContainerfile(text).find(({ name }) => name === 'HEALTHCHECK')?.text ?? '';
  const [, ...args] = JSON.parse(line.slice(line.indexOf('[')));
  const child = spawn(
    process.execPath,
    args.map((/** @type {string} */ arg) => arg.replace('3128', `${port}`)),
  );
  const [code] = await once(child, 'exit');
  return code;
}
