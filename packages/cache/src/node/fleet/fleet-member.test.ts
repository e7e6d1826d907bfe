import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@bloomery/testkit/eventually';
import { FleetKeyring } from '@bloomery/transport';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadConfig } from '../config/node-config.ts';
import { FleetMember } from './fleet-member.ts';
import { prepareMedium } from './media/prepare-medium.ts';

const OBJECT = 299;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bloomery-member-'));
  writeFileSync(join(folder, 'secret'), 'a secret of some bytes\n', { mode: 0o600 });
});

afterEach(() => rmSync(folder, { recursive: true }));

/** Members that have each other as neighbours; one answers 299 if a request is for an object. */
async function startMembers(): Promise<{ members: FleetMember[]; servers: Server[]; ports: number[] }> {
  const members: FleetMember[] = [];
  const servers = ['a', 'b'].map((_, at) =>
    createServer((req, res) => {
      if (!members[at]!.handle(req, res)) res.writeHead(OBJECT).end();
    }).listen(0, '127.0.0.1'),
  );
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  const keyring = new FleetKeyring([new Uint8Array(32).fill(4)]);
  for (const [at, name] of ['a', 'b'].entries()) {
    const flags = { listen: ['127.0.0.1:0'], disk: false, peer: [`http://127.0.0.1:${ports[1 - at]}`] };
    const { peers } = loadConfig({ flags: { ...flags, peerSecret: join(folder, 'secret') } });
    const medium = await prepareMedium(peers!);
    members.push(new FleetMember({ config: peers!, name, keyring, medium, event: () => {} }));
  }
  return { members, servers, ports };
}

async function ask(port: number, host: string): Promise<number> {
  const asked = request({ host: '127.0.0.1', port, path: 'http://example.org/a', headers: { host } }).end();
  const [response] = await once(asked, 'response');
  response.resume();
  return response.statusCode;
}

test('a question for another neighbour is refused; a name that is not known may be its own', async () => {
  const { members, servers, ports } = await startMembers();
  const [own, other] = ports.map((port) => `127.0.0.1:${port}`) as [string, string];
  await eventually(() => members[0]!.report().peers[0]!.id === 'b');
  expect(await ask(ports[0]!, other)).toBe(504);
  for (const host of [own, 'node-a.example:3129', '[::1]:80'])
    expect(await ask(ports[0]!, host)).toBe(OBJECT);
  for (const member of members) {
    await member.leave();
    member.close();
  }
  for (const server of servers) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

test('a member that leaves refuses objects, and names the version after its last one', async () => {
  const { members, servers, ports } = await startMembers();
  const [leaving, other] = members as [FleetMember, FleetMember];
  await eventually(() => other.report().peers[0]!.state === 'up');
  const { epoch, sequence } = leaving.summary(null)!;
  expect(await ask(ports[0]!, `127.0.0.1:${ports[0]}`)).toBe(OBJECT);
  leaving.drain();
  const answer = await fetch(`http://127.0.0.1:${ports[0]}/an-object`);
  expect([answer.status, answer.headers.get('bloomery-summary')]).toEqual([504, `${epoch}.${sequence + 1}`]);
  await eventually(() => other.report().peers[0]!.masked === 'it is shutting down');
  for (const member of members) {
    await member.leave();
    member.close();
  }
  for (const server of servers) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});
