/**
 * pip through a node in front of an index, and through it as a forward proxy. The index is made
 * here (PEP 503: a page of links for each project), with a wheel that is a zip file of three files.
 *
 * pip asks for pages with `Cache-Control: max-age=0`: the node checks them with the origin, which
 * answers 304 with no body. Files it takes as they are.
 */

import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startOrigin } from '@bloomery/testkit/origins/origin-lab';
import { clientFolder, fileSha256, need, run, sha256 } from '@bloomery/testkit/programs/client-program';
import { expect, it } from 'vitest';
import { startClientNode } from './client-node.ts';

const folder = clientFolder();
const WHEEL = 'bloomery_probe-1.0-py3-none-any.whl';

const MAKE_WHEEL = `
import sys, zipfile
info = 'bloomery_probe-1.0.dist-info/'
with zipfile.ZipFile(sys.argv[1], 'w') as wheel:
    wheel.writestr('bloomery_probe.py', 'data = """' + 'x' * 100000 + '"""')
    wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: bloomery-probe\\nVersion: 1.0\\n')
    wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr(info + 'RECORD', '')
`;

it('downloads a wheel: the file once, the page checked', async (context) => {
  need(context, 'pip', 'python3');
  const path = join(folder, WHEEL);
  await run('python3', ['-c', MAKE_WHEEL, path]);
  const wheel = readFileSync(path);
  await using origin = await startOrigin();
  const page = `<!doctype html><a href="../../files/${WHEEL}#sha256=${sha256(wheel)}">${WHEEL}</a>`;
  origin.on('/simple/bloomery-probe/', (request) => {
    const headers = ['Content-Type', 'text/html', 'Cache-Control', 'max-age=600', 'ETag', '"p1"'];
    headers.push('Vary', 'Accept, Accept-Encoding');
    return request.header('if-none-match') === '"p1"' ? { status: 304, headers } : { headers, body: page };
  });
  origin.on(`/files/${WHEEL}`, {
    headers: ['Cache-Control', 'max-age=31536000, immutable', 'Content-Type', 'application/octet-stream'],
    body: wheel,
  });
  await using node = await startClientNode(
    ...['--forward', '--allow-private', '--upstream', `/pypi/=${origin.origin}/`],
  );
  const download = async (name: string, ...args: string[]) => {
    const target = join(folder, name);
    mkdirSync(target);
    const common = ['download', '--isolated', '--no-deps', '--no-cache-dir', '--disable-pip-version-check'];
    await run('pip', [...common, '--trusted-host', '127.0.0.1', '-d', target, ...args, 'bloomery-probe']);
    expect(readdirSync(target)).toEqual([WHEEL]);
    expect(fileSha256(join(target, WHEEL))).toBe(sha256(wheel));
  };
  await download('first', '--index-url', `${node.url}/pypi/simple`);
  await download('second', '--index-url', `${node.url}/pypi/simple`);
  await download('third', '--index-url', `${origin.origin}/simple`, '--proxy', node.url);
  expect(origin.count(`/files/${WHEEL}`)).toBe(1);
  const pages = origin.requests.filter(({ url }) => url === '/simple/bloomery-probe/');
  expect(pages.map((request) => request.header('if-none-match'))).toEqual([undefined, '"p1"', '"p1"']);
});

it('downloads a wheel once from an index that says nothing about freshness, with --rules pip', async (context) => {
  need(context, 'pip', 'python3');
  const path = join(folder, 'silent.whl');
  await run('python3', ['-c', MAKE_WHEEL, path]);
  const wheel = readFileSync(path);
  await using origin = await startOrigin();
  origin.on('/simple/bloomery-probe/', {
    headers: ['Content-Type', 'text/html'],
    body: `<!doctype html><a href="../../files/${WHEEL}#sha256=${sha256(wheel)}">${WHEEL}</a>`,
  });
  origin.on(`/files/${WHEEL}`, { headers: ['Content-Type', 'application/octet-stream'], body: wheel });
  await using node = await startClientNode('--rules', 'pip', '--upstream', `/=${origin.origin}/`);
  for (const name of ['silent-1', 'silent-2']) {
    const target = join(folder, name);
    mkdirSync(target);
    const common = ['download', '--isolated', '--no-deps', '--no-cache-dir', '--disable-pip-version-check'];
    const index = ['--trusted-host', '127.0.0.1', '--index-url', `${node.url}/simple`];
    await run('pip', [...common, ...index, '-d', target, 'bloomery-probe']);
    expect(fileSha256(join(target, WHEEL))).toBe(sha256(wheel));
  }
  expect(origin.count(`/files/${WHEEL}`)).toBe(1);
});
