// `npm run bench:annotation-clients`: a thousand clients that follow a published list from a plain
// file server, while the server of annotations runs beside it. Its CPU time is read before and
// after: the clients must not cost it anything.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { FilterFollower, WINDOWS } from '@bloomery/stores/annotations';

const { values: options } = parseArgs({
  options: {
    clients: { type: 'string', default: '1000' },
    pages: { type: 'string', default: '20000' },
    markdown: { type: 'string' },
  },
});
const CLIENTS = Number(options.clients);
const PAGES = Number(options.pages);
const COMMAND = fileURLToPath(new URL('../../apps/cli/bin/bloomery.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'bloomery-bench-'));
const notes = join(folder, 'notes');

/** @param {...string} words */
function annotations(...words) {
  const { status, stderr, stdout } = spawnSync(process.execPath, [COMMAND, 'annotations', ...words]);
  if (status !== 0)
    throw new Error(`Cannot run annotations ${words[0]}: expected exit code 0, got ${stderr}`);
  return stdout.toString();
}

/** @param {number} from @param {number} to */
function importPages(from, to) {
  const lines = Array.from({ length: to - from }, (_, i) =>
    JSON.stringify({
      id: (from + i).toString(16).padStart(32, '0'),
      parent: null,
      author: 'ada',
      text: 'A note',
      atS: 1,
      state: 'visible',
      group: 'public',
      url: `https://site-${(from + i) % 997}.example/${from + i}`,
    }),
  );
  writeFileSync(join(folder, 'notes.jsonl'), lines.join('\n'));
  annotations('import', notes, join(folder, 'notes.jsonl'));
}

async function startServer() {
  const words = ['annotations', 'serve', notes, '--listen', '127.0.0.1:0', '--json'];
  const child = spawn(process.execPath, [COMMAND, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(child.stdout, 'data');
  return { child, invitation: String(JSON.parse(String(line)).invitation) };
}

/**
 * CPU time of a process, in milliseconds: user and system, in ticks of 10 ms.
 * @param {number} pid
 */
function cpuMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

/**
 * Waits until a process has used no CPU time for 12 s: after its start the engine still compiles
 * and collects garbage.
 * @param {number} pid
 */
async function settled(pid) {
  for (let still = 0, last = -1; still < 6; ) {
    await new Promise((resolve) => setTimeout(resolve, 2000));
    const now = cpuMs(pid);
    still = now === last ? still + 1 : 0;
    last = now;
  }
}

/** The time that the last round took. */
let roundMs = 0;
let [requests, bytes] = [0, 0];
const files = join(notes, 'public', 'files', 'public');
const fileServer = createServer((request, response) => {
  requests++;
  const path = join(files, (request.url ?? '').replace(/[^\w-]/g, ''));
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) {
    response.writeHead(404).end();
    return;
  }
  bytes += found.size;
  response.writeHead(200, { 'content-length': found.size });
  createReadStream(path).pipe(response);
}).listen(0, '127.0.0.1');
// The pauses between rounds are longer than the five seconds of the default.
fileServer.keepAliveTimeout = 600_000;
await once(fileServer, 'listening');
const { port } = /** @type {import('node:net').AddressInfo} */ (fileServer.address());

/** @param {FilterFollower} follower */
async function follow(follower) {
  const nowS = Date.now() / 1000;
  follower.wake();
  let changed = false;
  for (let step = follower.next(nowS); step.kind === 'fetch'; step = follower.next(nowS)) {
    const response = await fetch(`http://127.0.0.1:${port}/${step.file}`);
    const body = new Uint8Array(await response.arrayBuffer());
    if (!response.ok) follower.fail(step.file, nowS);
    else {
      const outcome = await follower.receive(step.file, body, nowS);
      if (outcome.status === 'refused') throw outcome.error;
      changed ||= outcome.status === 'changed';
    }
  }
  return changed;
}

/** @param {string} what @param {FilterFollower[]} followers @param {number} pid */
async function round(what, followers, pid) {
  [requests, bytes] = [0, 0];
  const before = cpuMs(pid);
  const start = performance.now();
  let changed = 0;
  for (let at = 0; at < followers.length; at += 20) {
    const results = await Promise.all(followers.slice(at, at + 20).map(follow));
    changed += results.filter(Boolean).length;
  }
  if (followers.length === 0) await new Promise((resolve) => setTimeout(resolve, roundMs));
  roundMs = performance.now() - start;
  const spent = cpuMs(pid) - before;
  return [
    what,
    String(changed),
    String(requests),
    Math.round(bytes / Math.max(1, followers.length)).toLocaleString('en'),
    `${spent} ms`,
  ];
}

importPages(0, PAGES);
const first = await startServer();
const key = Uint8Array.from(Buffer.from(first.invitation.split('#')[1], 'base64url'));
const followers = Array.from(
  { length: CLIENTS },
  () => new FilterFollower({ group: 'public', keys: [key], random: Math.random }),
);
await settled(/** @type {number} */ (first.child.pid));
const rows = [await round('a first download', followers, /** @type {number} */ (first.child.pid))];
// The same time without clients: timers of the server and its engine.
rows.push(await round('no clients, for as long', [], /** @type {number} */ (first.child.pid)));
rows.push(await round('nothing new', followers, /** @type {number} */ (first.child.pid)));
// The next publication is made by a server that starts again.
first.child.kill();
await once(first.child, 'exit');
importPages(PAGES, PAGES + Math.round(PAGES / 4800));
const second = await startServer();
await settled(/** @type {number} */ (second.child.pid));
rows.push(await round('an update', followers, /** @type {number} */ (second.child.pid)));
second.child.kill();
await once(second.child, 'exit');
fileServer.close();
rmSync(folder, { recursive: true });

const head = ['what', 'clients with a new list', 'files', 'bytes per client', 'CPU of the server'];
const machine = `${cpus()[0]?.model ?? 'unknown'}, ${availableParallelism()} cores, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}, load ${loadavg()[0]?.toFixed(1)}.`;
const text = `# Clients of a published list

${machine} ${CLIENTS.toLocaleString('en')} clients follow a list of ${PAGES.toLocaleString('en')} pages from a plain file server, each with its own state and its own verification. The server of annotations runs beside it, and the table has its CPU time (in ticks of 10 ms) while the clients come. Windows of updates: ${WINDOWS.join(', ')} hours.

${[head, head.map((_, i) => (i === 0 ? '---' : '---:')), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')}
`;
if (options.markdown === undefined) console.log(text);
else writeFileSync(options.markdown, text);
