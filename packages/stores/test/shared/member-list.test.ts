/**
 * The list of members in Redis: after a failover the fleet waits for every member on it. A record
 * that is wrong keeps all filters unsure for as long as a silent member is waited for.
 */

import { until } from '@bloomery/testkit/eventually';
import { RedisServer } from '@bloomery/testkit/programs/redis-server';
import { TcpRelay } from '@bloomery/testkit/relay/tcp-relay';
import { expect, test } from 'vitest';
import { CLIENTS, openMember } from './members.ts';

const LIST = 'bloomery:{users}:members';
const SLOW = { timeout: 120_000 };

test.each(CLIENTS)('close takes the member off the list, by the client %s', SLOW, async (client) => {
  await using server = await RedisServer.start();
  // The last command is still under way when the member has done all other work.
  await using link = await TcpRelay.start({ target: server.port });
  const member = await openMember(
    { url: `redis://127.0.0.1:${link.port}` },
    { client, timing: { lookMs: 1 } },
  );
  await member.ready();
  expect(server.cli('HLEN', LIST).trim()).toBe('1');
  link.setFaults({ toServer: { delayMs: 600 } });
  await member.close();
  expect(server.cli('HLEN', LIST).trim()).toBe('0');
});

test.each(CLIENTS)('a beat that was lost is sent again at once, by the client %s', SLOW, async (client) => {
  await using server = await RedisServer.start({ words: ['--enable-debug-command', 'yes'] });
  await using link = await TcpRelay.start({ target: server.port });
  // Beats are due every twenty minutes, so only the server's record can ask for this one.
  await using member = await openMember(
    { url: `redis://127.0.0.1:${link.port}` },
    { client, timing: { memberMs: 3_600_000 } },
  );
  await member.ready();
  let isLost = false;
  const damage = (piece: Buffer) => {
    const isBeat = piece.includes('\r\nHSET\r\n') && piece.includes(LIST) && !piece.includes('- 1');
    if (isLost || !isBeat) return;
    isLost = true;
    // A command that the server does not know. Only this connection of the member breaks.
    piece.fill('X').write('\r\n', piece.length - 2);
  };
  link.setFaults({ toServer: { damage } });
  // The server is another one from here on, as after a failover, and the member has to confirm.
  server.cli('DEBUG', 'CHANGE-REPL-ID');
  await until('a beat that gets lost', () => isLost);
  await member.ready({ timeoutMs: 60_000 });
});
