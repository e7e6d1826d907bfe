// A node in a process of its own: options come as JSON in the first argument, and events go out as
// lines of JSON on standard output. It listens at once, and begins when a line with the addresses
// of its peers comes on standard input, because ports are known only when all nodes listen.

import { once } from 'node:events';
import { BlockServer, fetchFrom } from '@bloomery/delivery';

const { digest, path, origin, up, down, lingerMs, limits = {} } = JSON.parse(process.argv[2]);
const say = (event, fields) => process.stdout.write(`${JSON.stringify({ event, ...fields })}\n`);
const server = await BlockServer.start({ limits: { bytesPerSecond: up ?? null } });
say('listening', { address: `http://127.0.0.1:${server.port}` });
process.stdin.setEncoding('utf8');
const [line] = await once(process.stdin, 'data');
process.stdin.on('end', () => process.exit(0));
const summary = ({ origins, peers, ...report }) => ({
  ...report,
  up: peers.filter(({ isUp }) => isUp).length,
});
try {
  const report = await fetchFrom(JSON.parse(line), digest, {
    path,
    origin,
    server,
    lingerMs,
    limits: { bytesPerSecond: down ?? null, ...limits },
    event: (level, name, fields) => say(name, { level, ...fields }),
    done: (done) => {
      const { user, system } = process.cpuUsage();
      say('done', { ...summary(done), cpuMs: (user + system) / 1000 });
    },
  });
  const { user, system } = process.cpuUsage();
  say('end', { ...summary(report), sentBytes: server.status.sentBytes, cpuMs: (user + system) / 1000 });
} catch (error) {
  say('failed', { code: error.code ?? error.name, message: error.message });
}
process.exit(0);
